import Chat
import Ports
import Testing
import Wire

@testable import Engine

/// What the origin is asked, and in which order, decided by `FetchQueue` alone.
@Suite struct FetchQueueTests {
    private var queue = FetchQueue(instance: "one")

    private mutating func add(_ name: String, rank: Int, of stream: Stream? = nil) {
        let question: FetchQueue.Question =
            stream.map { .last(.init($0)) } ?? .list(user: "u".id, reading: 0)
        queue.add(.init(question: question, query: .conversation(name), rank: rank))
    }

    private mutating func next(within limit: Int = 100) -> String? {
        guard case .conversation(let name, _) = queue.next(within: limit)?.query else { return nil }
        return name
    }

    @Test mutating func theLowestRankGoesFirstAndThoseOfOneRankInTurn() {
        for (name, rank) in [("a", 5), ("b", 0), ("c", 5), ("d", 9), ("e", 0)] {
            add(name, rank: rank)
        }
        #expect(queue.queued == 5)
        var order: [String?] = []
        for _ in 0..<6 { order.append(next()) }
        #expect(order == ["b", "e", "a", "c", "d", nil])
    }

    @Test mutating func noMoreAreInFlightThanMayBe() {
        for name in ["a", "b", "c"] { add(name, rank: 0) }
        #expect(next(within: 2) == "a" && next(within: 2) == "b" && next(within: 2) == nil)
        #expect(queue.inFlight == 2)
        queue.finished()
        #expect(next(within: 2) == "c")
    }

    @Test mutating func whatNobodyWaitsForAnyMoreIsNotAsked() {
        let stream = MachineSamples.replica()
        add("late", rank: 0, of: stream)
        add("b", rank: 1)
        stream.replica?.acknowledged(generation: 2, isKnown: true)
        #expect(next() == "b" && queue.inFlight == 1)
    }

    // MARK: - Heads

    private mutating func heads(_ streams: [Stream]) -> [[String]] {
        queue.compareHeads(of: streams)
        queue.askForHeads { _ in 0 }
        var asked: [[String]] = []
        while case .heads(let names)? = queue.next(within: 100)?.query { asked.append(names) }
        return asked
    }

    @Test mutating func headsAreAskedForTogetherButNotAcrossFeeds() {
        let streams = [(1, "a"), (2, "b"), (1, "c")].map {
            MachineSamples.replica($0.1, generation: $0.0)
        }
        #expect(heads(streams) == [["a", "c"], ["b"]])
        // They are on their way.
        #expect(heads(streams) == [])
        streams[0].replica?.inFlight.end(.compareHead)
        #expect(heads(streams) == [["a"]])
    }

    @Test mutating func aHundredHeadsGoIntoOneQuestion() {
        let streams = (0..<150).map { MachineSamples.replica("c\($0)") }
        #expect(heads(streams).map(\.count) == [100, 50])
    }

    @Test mutating func aFeedThatEndedMeanwhileIsNotAskedAbout() {
        let stream = MachineSamples.replica()
        queue.compareHeads(of: [stream])
        stream.replica?.lapsed(at: MachineSamples.start)
        queue.askForHeads { _ in 0 }
        #expect(queue.queued == 0)
        // It is not forgotten when it comes back.
        stream.replica?.acknowledged(generation: 2, isKnown: true)
        #expect(heads([stream]) == [["c1"]])
    }

    // MARK: - In flight

    @Test func placesOnTheirWayAreNotAskedForAgain() {
        var fetches = FetchesInFlight()
        #expect(fetches.request(Coverage(1, 10)) == Coverage(1, 10))
        #expect(fetches.request(Coverage(5, 15)) == Coverage(11, 15))
        fetches.end(.init(1, 10))
        #expect(fetches.places == Coverage(11, 15) && !fetches.isEmpty)
        fetches.begin(.catchUp)
        fetches.forget()
        #expect(fetches.isEmpty && !fetches.contains(.catchUp))
    }

    // MARK: - Backing off

    @Test mutating func pausesDoubleUpToTheLongest() {
        var options = SyncOptions()
        options.backoffBase = 100
        options.backoffMax = 1000
        for (failures, longest) in [(0, 100), (1, 200), (3, 800), (4, 1000), (80, 1000)] {
            for _ in 0..<50 {
                let pause = queue.pause(after: failures, options)
                #expect((Int64(longest / 2)...Int64(longest)).contains(pause))
            }
        }
        var (same, other) = (FetchQueue(instance: "one"), FetchQueue(instance: "two"))
        queue = FetchQueue(instance: "one")
        let pauses = (0..<5).map { _ in queue.pause(after: 9, options) }
        #expect(pauses == (0..<5).map { _ in same.pause(after: 9, options) })
        #expect(pauses != (0..<5).map { _ in other.pause(after: 9, options) })
    }

    @Test func whoWaitsIsToldAfterTheThirdFailure() {
        let later = MachineSamples.start.adding(100)
        var backoff = Backoff()
        for failures in 1...9 {
            backoff.fail(until: later)
            #expect(backoff.isUnavailable == (failures >= 3))
            #expect(backoff.hasGivenUp == (failures >= 9))
        }
        backoff.retry(at: MachineSamples.start.adding(99))
        #expect(backoff.isWaiting)
        backoff.retry(at: later)
        #expect(!backoff.isWaiting && !backoff.isUnavailable && backoff.failures == 9)
        backoff.succeed()
        #expect(backoff.failures == 0)
    }
}
