import Chat
import JSON
import TestSupport
import Testing

/// `merge` and `applyDelta` over messages: the rules one by one, then against a log of changes.
@Suite struct MessageMergeTests {
    private static func delta(_ type: DeltaKind, _ message: Message) -> MessageDelta {
        MessageDelta(type: type, message: message)
    }

    // MARK: The rules

    @Test func aPageOnTopOfAnOlderOneIsAppendedAndItsOverlapTaken() {
        // The design's two scenarios: with an overlap, and with a gap.
        let cached = (1...6).map { Message.numbered($0, body: "cached") }
        let fetched = (4...9).map { Message.numbered($0, body: "fetched") }
        let merged = merge(messages: fetched, toList: cached)
        #expect(merged.map(\.seq) == Array(1...9))
        #expect(merged.prefix(3).allSatisfy { $0.body == "cached" })
        #expect(merged.dropFirst(3).allSatisfy { $0.body == "fetched" })

        let apart = merge(messages: messages([20, 19, 18]), toList: cached)
        #expect(apart.map(\.seq) == [1, 2, 3, 4, 5, 6, 18, 19, 20])
        let boundaries = findBoundaries(ofMessageList: apart)
        #expect(boundaries.map { [$0.0, $0.1] } == [[8, 6], [5, 0]])
    }

    @Test func theNewestRevWinsWhateverBringsIt() {
        let old = Message.numbered(1, rev: 1, body: "old")
        let new = Message.numbered(1, rev: 5, body: "new")
        #expect(merge(messages: [old], toList: [new]) == [new])
        #expect(merge(messages: [new], toList: [old]) == [new])
        #expect(applyDelta([Self.delta(.updated, old)], toList: [new]) == [new])
        #expect(applyDelta([Self.delta(.deleted, old)], toList: [new]) == [new])
        let plain = Message.numbered(1, body: "without a number")
        #expect(merge(messages: [plain], toList: [old]) == [old])
        #expect(merge(messages: [old], toList: [plain]) == [old])
    }

    @Test func withoutRevWhatWasFetchedReplaces() {
        let held = Message.unnumbered("a", at: 1, edited: 9, body: "held")
        let fetched = Message.unnumbered("a", at: 1, body: "fetched")
        #expect(merge(messages: [fetched], toList: [held]) == [fetched])
    }

    @Test func anUpdateMayComeBeforeItsInsert() {
        let inserted = Self.delta(.inserted, .unnumbered("a", at: 1, body: "first"))
        let updated = Self.delta(.updated, .unnumbered("a", at: 1, body: "status changed"))
        let edited = Self.delta(.updated, .unnumbered("a", at: 1, edited: 5, body: "edited"))
        #expect(applyDelta([updated, inserted], toList: []) == [updated.message])
        #expect(applyDelta([inserted, updated], toList: []) == [updated.message])
        #expect(applyDelta([edited, updated, inserted], toList: []) == [edited.message])
    }

    @Test func aDeleteOfAnUnknownMessageKeepsALateInsertAway() {
        for rev in [nil, 2] {
            let message = Message.numbered(3, rev: rev.map { $0 - 1 }, body: "gone")
            var last = message
            last.rev = rev
            let deleted = Self.delta(.deleted, last)
            let list = applyDelta([deleted, Self.delta(.inserted, message)], toList: [])
            #expect(list == [deleted.message])
            #expect(list.visible.isEmpty)
            #expect(merge(messages: [message], toList: list) == list)
        }
    }

    @Test func whatIsBeingSentStandsAtTheEndAndGetsItsPlace() {
        let sending = Message.unnumbered("x", at: 0)
        let list = merge(messages: messages([1, 2]) + [sending], toList: [])
        #expect(list.map(\.id) == ["m1", "m2", "x"])
        var sent = sending
        sent.seq = 3
        sent.rev = 3
        let done = applyDelta([Self.delta(.inserted, sent)], toList: list)
        #expect(done == messages([1, 2]) + [sent])
        #expect(merge(messages: [sending], toList: done) == done)
    }

    @Test func aPlaceOnceGivenStays() {
        let placed = Message.numbered(7, body: "placed")
        var fetched = placed
        fetched.seq = nil
        fetched.body = "fetched"
        #expect(merge(messages: [fetched], toList: [placed]).map(\.seq) == [7])
        var edited = fetched
        edited.editedAt = Timestamp(milliseconds: 9_000)
        let list = applyDelta([Self.delta(.inserted, placed)], toList: [edited])
        #expect(list.map(\.seq) == [7])
        #expect(list.map(\.body) == ["fetched"])
    }

    @Test func withoutNumberingTheOrderIsOfTimeAndId() {
        let list = [("b", 2), ("a", 2), ("z", 1)].map { Message.unnumbered($0.0, at: $0.1) }
        #expect(merge(messages: list, toList: []).map(\.id) == ["z", "a", "b"])
    }

    @Test func aGivenListIsPutInOrderEachIdOnce() {
        let newer = Message.numbered(2, rev: 9)
        let list = [.numbered(3, rev: 3), newer, .numbered(2, rev: 2), .numbered(1, rev: 1)]
        #expect(merge(messages: [], toList: list).map(\.rev) == [1, 9, 3])
        #expect(applyDelta([], toList: list).map(\.rev) == [1, 9, 3])
    }

    @Test func idsAreComparedByteByByte() {
        // The same letter, composed and decomposed: Swift's `==` takes them for one.
        let ids = ["caf\u{E9}", "cafe\u{301}"]
        let list = merge(messages: ids.map { .unnumbered($0, at: 1) }, toList: [])
        #expect(list.count == 2)
        #expect(merge(messages: list, toList: list) == list)
    }

    // MARK: Against a log

    /// A random log: the delta of each change, and what the conversation was after each.
    private struct Log {
        var deltas: [MessageDelta] = []
        /// At index r: the messages as of rev r, ascending.
        var states: [[Message]] = [[]]

        init(changes: Int, using generator: inout SplitMix64) {
            for rev in 1...changes {
                var state = states[rev - 1]
                let alive = state.indices.filter { !state[$0].isDeleted }
                let draw = Int.random(in: 0..<4, using: &generator)
                switch (draw, alive.randomElement(using: &generator)) {
                case (0, let at?):
                    state[at].rev = rev
                    state[at] = state[at].tombstone
                    deltas.append(delta(.deleted, state[at]))
                case (1, let at?):
                    state[at].rev = rev
                    state[at].body = "edited \(rev)"
                    deltas.append(delta(.updated, state[at]))
                default:
                    state.append(.numbered(state.count + 1, rev: rev, body: "new"))
                    deltas.append(delta(.inserted, state[state.count - 1]))
                }
                states.append(state)
            }
        }

        /// A page read at a random moment, in either order.
        func page(using generator: inout SplitMix64) -> [Message] {
            let state = states.randomElement(using: &generator) ?? []
            let from = Int.random(in: 0...state.count, using: &generator)
            let page = state[from...].prefix(Int.random(in: 0...6, using: &generator))
            return Bool.random(using: &generator) ? page.reversed() : Array(page)
        }
    }

    /// Something that comes to a client.
    private enum Arrival {
        case page([Message])
        case deltas([MessageDelta])

        func merged(into list: [Message]) -> [Message] {
            switch self {
            case .page(let page): merge(messages: page, toList: list)
            case .deltas(let deltas): merge(messageDeltas: deltas, toList: list)
            }
        }
    }

    /// The deltas in chunks, some more than once, and pages between them, all in random order.
    private static func arrivals(
        of deltas: [MessageDelta], _ log: Log, using generator: inout SplitMix64
    ) -> [Arrival] {
        let repeated = deltas.filter { _ in Bool.random(using: &generator) }
        var rest = (deltas + repeated).shuffled(using: &generator)[...]
        var arrivals: [Arrival] = []
        while !rest.isEmpty {
            let count = Int.random(in: 1...5, using: &generator)
            arrivals.append(.deltas(Array(rest.prefix(count))))
            rest = rest.dropFirst(count)
        }
        for _ in 0..<Int.random(in: 0...5, using: &generator) {
            arrivals.append(.page(log.page(using: &generator)))
        }
        return arrivals.shuffled(using: &generator)
    }

    @Test func pagesAndDeltasInAnyInterleavingGiveTheTruth() throws {
        for seed in UInt64(1)...10_000 {
            var generator = SplitMix64(seed: seed)
            let log = Log(changes: Int.random(in: 1...30, using: &generator), using: &generator)
            let list = Self.arrivals(of: log.deltas, log, using: &generator)
                .reduce(into: []) { $0 = $1.merged(into: $0) }
            try #require(list == log.states.last, "seed \(seed)")
            try #require(list.visible == log.states.last?.filter { !$0.isDeleted }, "seed \(seed)")
        }
    }

    @Test func anyPartOfWhatComesGivesTheNewestOfItInAnyOrder() throws {
        for seed in UInt64(1)...2_000 {
            var generator = SplitMix64(seed: seed)
            let log = Log(changes: Int.random(in: 1...30, using: &generator), using: &generator)
            let known = log.deltas.filter { _ in Int.random(in: 0..<3, using: &generator) > 0 }
            let arrivals = Self.arrivals(of: known, log, using: &generator)

            // The model: of each message the value with the highest rev that came.
            var newest: [Int: Message] = [:]
            for arrival in arrivals {
                let values =
                    switch arrival {
                    case .page(let page): page
                    case .deltas(let deltas): deltas.map(\.message)
                    }
                for value in values {
                    let seq = try #require(value.seq)
                    if (newest[seq]?.rev ?? 0) < value.rev ?? 0 { newest[seq] = value }
                }
            }
            let expected = newest.keys.sorted().compactMap { newest[$0] }

            let list = arrivals.reduce(into: []) { $0 = $1.merged(into: $0) }
            try #require(list == expected, "seed \(seed)")
            let again = arrivals.shuffled(using: &generator)
                .reduce(into: list) { $0 = $1.merged(into: $0) }
            try #require(again == expected, "seed \(seed)")
        }
    }

    @Test func mergingPagesIsIdempotentAndCommutative() throws {
        for seed in UInt64(1)...2_000 {
            var generator = SplitMix64(seed: seed)
            let log = Log(changes: Int.random(in: 1...30, using: &generator), using: &generator)
            let a = log.page(using: &generator)
            let b = log.page(using: &generator)
            let both = merge(messages: a, toList: merge(messages: b, toList: []))
            let other = merge(messages: b, toList: merge(messages: a, toList: []))
            try #require(both == other, "seed \(seed)")
            try #require(both == merge(messages: a, toList: both), "seed \(seed)")
            try #require(both == merge(messages: b, toList: a), "seed \(seed)")
        }
    }

    @Test func withoutRevDeltasInAnyOrderGiveTheLatestEdit() throws {
        for seed in UInt64(1)...2_000 {
            var generator = SplitMix64(seed: seed)
            var log = Log(changes: Int.random(in: 1...20, using: &generator), using: &generator)
            // As Skygear has it: no numbers, the time of the edit instead.
            log.deltas = log.deltas.map { delta in
                var message = delta.message
                message.editedAt = message.rev.map { Timestamp(milliseconds: Int64($0) * 60_000) }
                message.rev = nil
                message.seq = nil
                return Self.delta(delta.type, message)
            }
            let expected = applyDelta(log.deltas, toList: [])
            let repeated = (log.deltas + log.deltas).shuffled(using: &generator)
            try #require(applyDelta(repeated, toList: []) == expected, "seed \(seed)")
            try #require(applyDelta(repeated, toList: expected) == expected, "seed \(seed)")
            try #require(
                expected.visible.count == log.states.last?.visible.count, "seed \(seed)")
        }
    }
}
