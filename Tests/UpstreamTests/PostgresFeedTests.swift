import Ports
import Synchronization
import Testing
import Wire

@testable import Upstream

/// From which place a feed that only rings reads what it tells.
@Suite struct PostgresFeedTests {
    private let pool: PostgresPool
    private let links = PostgresLinks()
    private let feed: PostgresFeed
    private let told = Events()

    private final class Events: Sendable {
        let outputs = Mutex<[UpstreamOutput]>([])
    }

    init() {
        let options = PostgresOptions(url: "")
        pool = PostgresPool(options)
        let outlet = Outlet()
        outlet.open { [told] outputs in told.outputs.withLock { $0 += outputs } }
        feed = PostgresFeed(options, pool, links, outlet, damaged: { _, _ in })
        let identity = PostgresIdentity(system: "s", timeline: 1, started: 1)
        feed.opened(links.feedOpened(identity))
        feed.subscribe("c".id)
        feed.noteDoorbells(["c".id])
    }

    private func learn(_ rev: Int, epoch: String = "e") {
        let head = Head(epoch: epoch, seq: 0, rev: rev, mark: "m\(rev)", floor: 1)
        feed.learn(head, of: "c".id, generation: links.generation)
    }

    /// A server that lost its end gives them again.
    @Test func numbersOfEntriesCountForOneFeed() {
        var log = PostgresListLog()
        log.open(at: 5)
        let first = [log.isNew(7), log.isNew(7)]
        log.open(at: 5)
        let next = [log.isNew(7), log.isNew(7)]
        #expect(first == [true, false] && next == [true, false])
    }

    /// What is asked now, and nothing else.
    private func asked() -> (task: PostgresPool.Task, text: String)? {
        guard let task = pool.take(0), task.jobs.count == 1 else { return nil }
        return (task, String(decoding: task.jobs[0].argument, as: UTF8.self))
    }

    @Test("goes back where an answer that was overtaken tells an older head")
    func overtaken() throws {
        #expect(asked() == nil)
        learn(2)
        let first = try #require(asked())
        #expect(first.text.contains(#""rev":2"#))
        learn(3)
        #expect(asked() == nil)
        // The stream may have begun there, and what follows was not told.
        learn(1)
        let nothing =
            #"{"word":"done","head":{"epoch":"e","seq":0,"rev":2,"mark":"m2","floor":1},"#
            + #""revs":[],"messages":[]}"#
        let answer = try #require(PostgresAnswer(Array(nothing.utf8)))
        pool.finish(first.task, [.success(answer)])
        let second = try #require(asked())
        #expect(second.text.contains(#""rev":1"#))
    }

    private var joined: Int {
        told.outputs.withLock { outputs in
            outputs.count { if case .subscribed = $0 { true } else { false } }
        }
    }

    @Test("forgets nothing where a question fails that the feed breaks with")
    func broken() throws {
        learn(2)
        let task = try #require(asked()).task
        pool.finish(task, [.failure(.originUnavailable)])
        // It has rung again, and what it said then is not read either.
        feed.noteDoorbells(["c".id])
        #expect(asked() == nil && joined == 1)
        feed.closed()
        #expect(joined == 1)
        let last = told.outputs.withLock { $0.last }
        guard case .lapsed = last else { throw Failed() }
    }

    private struct Failed: Error {}

    @Test("has heads compared where a question fails and the feed lives on")
    func refused() throws {
        let before = ContinuousClock.now
        learn(2)
        let task = try #require(asked()).task
        pool.finish(task, [.failure(.originUnavailable)])
        feed.noteAlive(at: before)
        #expect(joined == 1)
        feed.noteAlive(at: .now)
        #expect(joined == 2)
        feed.noteAlive(at: .now)
        #expect(joined == 2)
        // And the next question is asked.
        feed.noteDoorbells(["c".id])
        learn(3)
        #expect(asked() != nil)
    }

    @Test("asks again who joined and left where that question failed, from the same place on")
    func listed() throws {
        feed.closed()
        feed.opened(links.generation, place: 7)
        feed.subscribeList("u".id)
        feed.noteDoorbells(["d".id])
        let first = try #require(asked())
        #expect(first.text.contains(#""q":"listed","users":["u"],"conversations":["d"],"since":7"#))
        pool.finish(first.task, [.failure(.originUnavailable)])
        #expect(asked() == nil)
        feed.noteAlive(at: .now)
        let second = try #require(asked())
        #expect(second.text == first.text)
        let rows = #"{"word":"done","place":9,"listed":[["u",4,"d",true],["u",5,"d",false]]}"#
        let answer = try #require(PostgresAnswer(Array(rows.utf8)))
        pool.finish(second.task, [.success(answer)])
        feed.noteDoorbells(["d".id])
        // What was told once is not told again.
        pool.finish(try #require(asked()).task, [.success(answer)])
        let told = told.outputs.withLock { outputs in
            outputs.compactMap { output in
                if case .feed(.listed(_, _, let isIn)) = output { isIn } else { nil }
            }
        }
        #expect(told == [true, false])
        feed.noteAlive(at: .now)
        #expect(asked() == nil)
    }

    @Test("has heads compared where answers tell of two logs")
    func replaced() {
        learn(2)
        learn(9, epoch: "f")
        #expect(joined == 2)
    }
}
