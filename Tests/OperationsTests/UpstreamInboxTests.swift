import Foundation
import Synchronization
import Testing
import Upstream
import WebSockets

@testable import Gateway

/// Outputs of an upstream keep their order on the way to the loop, by whichever way they come.
@Suite struct UpstreamInboxTests {
    private final class Loop: Sendable {
        let loop: ServiceLoop
        let inbox: UpstreamInbox
        /// The generations of what the loop took, in order.
        private let taken = Mutex<[Int]>([])

        init() throws {
            loop = try ServiceLoop()
            inbox = UpstreamInbox(loop)
            Thread.detachNewThread { [loop] in loop.run() }
        }

        func deliver(_ number: Int) {
            inbox.deliver([.lapsed(generation: number)]) { self.take($0) }
        }

        func take(_ outputs: [UpstreamOutput]) {
            for case .lapsed(let number) in outputs { taken.withLock { $0.append(number) } }
        }

        /// Runs on the loop, and waits for it and what it has posted.
        func run(_ body: @escaping @Sendable (Loop) -> Void) {
            let done = DispatchSemaphore(value: 0)
            loop.post { [self] in
                body(self)
                loop.post { done.signal() }
            }
            done.wait()
        }

        var numbers: [Int] { taken.withLock { $0 } }
    }

    @Test func whatComesWhileTheLoopAsksIsItsAnswer() throws {
        let loop = try Loop()
        defer { loop.loop.stop() }
        loop.run { loop in
            loop.take(
                loop.inbox.gather {
                    loop.deliver(1)
                    loop.deliver(2)
                })
            #expect(loop.numbers == [1, 2])
        }
    }

    @Test func nothingOvertakesWhatWasPosted() throws {
        let loop = try Loop()
        defer { loop.loop.stop() }
        loop.run { loop in
            // As the writer's thread would, just before.
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                loop.deliver(1)
                done.signal()
            }
            done.wait()
            #expect(loop.inbox.gather { loop.deliver(2) }.isEmpty)
        }
        #expect(loop.numbers == [1, 2])
    }

    @Test func onTheLoopButNotAskedItIsPosted() throws {
        let loop = try Loop()
        defer { loop.loop.stop() }
        loop.run { loop in
            loop.deliver(1)
            #expect(loop.numbers.isEmpty)
        }
        #expect(loop.numbers == [1])
    }
}
