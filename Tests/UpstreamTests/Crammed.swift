import Cache
import Dispatch
import Glibc
import Ports
import Synchronization
import Upstream
import Wire

/// What runs in the process whose files can't grow.
struct Crammed {
    private let embedded: Embedded
    private let reader: Reader
    private let results: Results

    /// What came back, from the upstream's thread.
    private final class Results: Sendable {
        let outcomes = Mutex<[Result<Outcome, RequestError>]>([])
        let arrived = DispatchSemaphore(value: 0)
        let room = DispatchSemaphore(value: 0)
    }

    init(_ directory: String) throws {
        let results = Results()
        self.results = results
        let store = try Store(Victim.options(directory))
        embedded = try Embedded(store, onWritable: { if $0 == nil { results.room.signal() } })
        reader = try Reader(store)
        embedded.start { outputs in
            for case .performed(_, let result) in outputs {
                results.outcomes.withLock { $0.append(result) }
                results.arrived.signal()
            }
        }
    }

    private func perform(_ operation: Operation) -> Result<Outcome, RequestError>? {
        embedded.submit([.perform(operation, by: .server, token: 1)])
        results.arrived.wait()
        return results.outcomes.withLock { $0.popLast() }
    }

    private func send(_ id: String) -> Result<Outcome, RequestError>? {
        let content = MessageContent(id: id, body: String(repeating: "x", count: 10_000))
        return perform(
            .send(conversation: "c1", [NewMessage(author: "a", content: content)]))
    }

    /// Files may get no longer than this.
    private func limit(_ bytes: rlim_t) {
        var limits = rlimit()
        getrlimit(__rlimit_resource_t(1), &limits)
        limits.rlim_cur = bytes
        setrlimit(__rlimit_resource_t(1), &limits)
    }

    func run() throws {
        signal(SIGXFSZ, SIG_IGN)
        _ = perform(.put(id: "c1", ConversationFields(participants: ["a"])))
        guard case .success = send("m1") else { exit(10) }
        limit(4_096)
        guard case .failure(let refusal) = send("m2"), refusal.code == .originUnavailable,
            refusal.retry == .later
        else { exit(11) }
        guard !embedded.isWritable else { exit(12) }
        // Reading goes on.
        guard
            case .page(let page) = try reader.answer(
                Query.page(conversation: "c1", PageRequest())), page.messages.map(\.id) == ["m1"]
        else { exit(13) }
        limit(.max)
        results.room.wait()
        guard embedded.isWritable, case .success(.messages(let sent, _, true)) = send("m2"),
            sent.first?.seq == 2
        else { exit(14) }
        exit(0)
    }
}
