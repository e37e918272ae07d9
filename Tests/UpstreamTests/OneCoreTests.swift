import Cache
import Glibc
import Ports
import Synchronization
import Testing
import Upstream
import Wire

/// Where the process has one core, the thread that submits a small batch commits it.
@Suite struct OneCoreTests {
    /// What was delivered, and by which threads.
    private final class Deliveries: Sendable {
        private let state = Mutex<[(token: UInt64, thread: UInt)]>([])

        func take(_ outputs: [UpstreamOutput]) {
            let thread = UInt(pthread_self())
            state.withLock { state in
                for case .performed(let token, _) in outputs { state.append((token, thread)) }
            }
        }

        /// The thread that delivered the result of a call; nil before it is there.
        func thread(of token: UInt64) -> UInt? {
            state.withLock { $0.first { $0.token == token }?.thread }
        }

        var tokens: [UInt64] { state.withLock { $0.map(\.token) } }
    }

    private final class Subject {
        let directory: String
        let embedded: Embedded
        let deliveries = Deliveries()
        private var token: UInt64 = 0

        init(_ pace: WriterPace) throws {
            directory = try Origin.makeDirectory()
            embedded = try Embedded(
                try Store(
                    Store.Options(
                        path: directory + "/gapless.db", origin: Embedded.kind, durability: .normal,
                        isChecked: true)),
                pace: pace)
            embedded.start { [deliveries] in deliveries.take($0) }
        }

        deinit { embedded.stop() }

        /// - Returns: the token of its result.
        func submit(_ operations: [Operation]) -> [UInt64] {
            let calls = operations.map { operation in
                token += 1
                return UpstreamCall.perform(operation, by: .server, token: token)
            }
            embedded.submit(calls)
            return calls.map { if case .perform(_, _, let token) = $0 { token } else { 0 } }
        }

        /// Waits until the writer has nothing to do: while it runs, it takes what is submitted.
        func settle() -> Bool {
            for _ in 0..<2000 {
                let token = submit([OneCoreTests.message("c", "is it done?")])[0]
                guard isAnswered(token) else { return false }
                if deliveries.thread(of: token) == UInt(pthread_self()) { return true }
                usleep(1000)
            }
            return false
        }

        func isAnswered(_ token: UInt64) -> Bool {
            for _ in 0..<5000 where deliveries.thread(of: token) == nil { usleep(2000) }
            return deliveries.thread(of: token) != nil
        }
    }

    /// - Parameter prompt: what no transaction takes, however busy the machine is.
    private static func oneCore(prompt: Duration = .seconds(60)) -> WriterPace {
        var pace = WriterPace(isOnOneCore: true)
        pace.prompt = prompt
        // What is left of a batch when its slice is over has the writer's thread.
        pace.slice = prompt
        return pace
    }

    private static func creation(_ id: String, _ people: Int) -> Operation {
        .put(id: id, ConversationFields(participants: (0..<people).map { "u\($0)" }))
    }

    fileprivate static func message(_ id: String, _ text: String) -> Operation {
        let message = NewMessage(author: "u0", content: MessageContent(body: text))
        return .send(conversation: id, [message])
    }

    private var here: UInt { UInt(pthread_self()) }

    @Test func aSmallBatchIsAnsweredWithinTheCall() throws {
        let subject = try Subject(Self.oneCore())
        #expect(subject.embedded.answersWithinCall)
        #expect(subject.isAnswered(subject.submit([Self.creation("c", 3)])[0]))
        #expect(subject.settle())
        for number in 0..<100 {
            let tokens = subject.submit([Self.message("c", "m\(number)"), Self.message("c", "n")])
            for token in tokens { #expect(subject.deliveries.thread(of: token) == here) }
        }
        #expect(subject.deliveries.tokens == subject.deliveries.tokens.sorted())
    }

    @Test func whatMayTakeLongHasTheWritersThread() throws {
        let subject = try Subject(Self.oneCore())
        func isDoneHere(_ operations: [Operation]) -> Bool {
            let token = subject.submit(operations)[0]
            #expect(subject.isAnswered(token))
            return subject.deliveries.thread(of: token) == here
        }
        #expect(!isDoneHere([Self.creation("c", 3)]))
        #expect(subject.settle())
        #expect(isDoneHere([Self.message("c", "brief")]))
        #expect(!isDoneHere((0..<60).map { Self.message("c", "many \($0)") }))
        #expect(
            !isDoneHere(
                (0..<4).map { _ in
                    Self.message("c", String(repeating: "x", count: 20_000))
                }))
        #expect(!isDoneHere([.deleteConversation("c")]))
    }

    @Test func withMoreCoresTheWriterHasItsThread() throws {
        let subject = try Subject(WriterPace())
        #expect(!subject.embedded.answersWithinCall)
        let token = subject.submit([Self.creation("c", 3)])[0]
        #expect(subject.isAnswered(token))
        #expect(subject.deliveries.thread(of: token) != here)
    }
}
