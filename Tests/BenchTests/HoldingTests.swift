import Testing

@testable import Bench

/// What the drills' clients hold and what they complain of. A checker that never complains would
/// pass every gateway, so each complaint is provoked here.
@Suite struct HoldingTests {
    /// A client of a room with so many messages, and the log behind it.
    private struct Scene {
        let room = Room(index: 0, name: "room-0", base: 1)
        var holding = Holding()
        var ledger = Ledger()
        let frames = FrameText()

        init(messages: Int) {
            for _ in 0..<messages { _ = room.insert(due: 0) }
        }

        mutating func apply(_ text: String, _ way: Ledger.Way = .live) throws {
            let bytes = Array(text.utf8)
            let frame =
                switch way {
                case .live: try #require(try StreamFrame(event: bytes, prefix: "room-"))
                case .replay: try StreamFrame(reply: bytes, .subscribed)
                case .healing: try StreamFrame(reply: bytes, .page)
                }
            holding.apply(frame, room, way, &ledger, at: 1_000_000)
        }

        var complaints: [String] { ledger.faults.keys.sorted() }
    }

    /// Frames as a gateway writes them, of a log whose message at `seq` is the change `seq + 1`.
    private struct FrameText {
        func head(_ rev: Int, epoch: String = "e") -> String {
            #""head":{"epoch":"\#(epoch)","seq":\#(rev - 1),"rev":\#(rev),"mark":"m","floor":1}"#
        }

        func message(_ seq: Int, rev: Int? = nil, id: String? = nil) -> String {
            #"{"id":"\#(id ?? "m\(seq)")","seq":\#(seq),"rev":\#(rev ?? seq + 1)}"#
        }

        func deltas(_ messages: [String]) -> String {
            let all = messages.map { #"{"type":"inserted","via":"live","message":\#($0)}"# }
            return "\"deltas\":[\(all.joined(separator: ","))]"
        }

        func covers(_ ranges: [ClosedRange<Int>]) -> String {
            let all = ranges.map { "[\($0.lowerBound),\($0.upperBound)]" }
            return "\"covers\":[\(all.joined(separator: ","))]"
        }

        func subscribed(_ seqs: ClosedRange<Int>, asOf: Int, epoch: String = "e") -> String {
            """
            {"result":{\(deltas(seqs.map { message($0) })),\(covers([seqs])),"gaps":[],\
            "asOf":\(asOf),\(head(asOf, epoch: epoch))}}
            """
        }

        func event(
            _ messages: [String], covers ranges: [ClosedRange<Int>], prev: Int, asOf: Int
        ) -> String {
            """
            {"event":"messages","conversation":"room-0",\(deltas(messages)),\(covers(ranges)),\
            "prev":\(prev),"asOf":\(asOf),\(head(asOf))}
            """
        }

        func gap(_ places: ClosedRange<Int>, prev: Int, asOf: Int) -> String {
            """
            {"event":"gap","conversation":"room-0","gaps":[{"after":\(places.lowerBound - 1),\
            "before":\(places.upperBound + 1),"missing":\(places.count),"cause":"slow"}],\
            "prev":\(prev),"asOf":\(asOf),\(head(asOf))}
            """
        }

        func page(_ seqs: ClosedRange<Int>, asOf: Int) -> String {
            """
            {"result":{"messages":[\(seqs.map { message($0) }.joined(separator: ","))],\
            \(covers([seqs])),"gaps":[],"asOf":\(asOf),\(head(asOf))}}
            """
        }
    }

    @Test func aReplyAndTheEventsBehindItAreHeld() throws {
        var scene = Scene(messages: 5)
        try scene.apply(scene.frames.subscribed(1...3, asOf: 4), .replay)
        let messages = [scene.frames.message(4), scene.frames.message(5)]
        try scene.apply(scene.frames.event(messages, covers: [4...5], prev: 4, asOf: 6))
        #expect(scene.complaints == [])
        #expect(scene.holding.isWhole(scene.room))
        #expect(scene.ledger.replayed == 3 && scene.ledger.live == 2)
        #expect(scene.holding.unaccounted(scene.room, asOf: 6) == 0)
        let have = String(decoding: try #require(scene.holding.have), as: UTF8.self)
        #expect(have.contains(#""asOf":6,"runs":[[1,5]]"#))
    }

    @Test func aGapIsDeclaredAndHealed() throws {
        var scene = Scene(messages: 6)
        try scene.apply(scene.frames.subscribed(1...2, asOf: 3), .replay)
        try scene.apply(scene.frames.gap(3...6, prev: 3, asOf: 7))
        #expect(scene.ledger.declared == 4 && scene.holding.declared.ranges == [3...6])
        #expect(!scene.holding.isWhole(scene.room))
        #expect(scene.holding.unaccounted(scene.room, asOf: 7) == 0)
        try scene.apply(scene.frames.page(3...6, asOf: 7), .healing)
        #expect(scene.holding.declared.isEmpty && scene.holding.isWhole(scene.room))
        #expect(scene.ledger.healed == 4)
        #expect(scene.complaints == [])
    }

    @Test func aSilentHoleIsNoticed() throws {
        var scene = Scene(messages: 5)
        try scene.apply(scene.frames.subscribed(1...3, asOf: 4), .replay)
        try scene.apply(
            scene.frames.event([scene.frames.message(5)], covers: [5...5], prev: 4, asOf: 6))
        #expect(scene.complaints == ["a message is neither held nor told"])
        #expect(scene.holding.unaccounted(scene.room, asOf: 6) == 1)
    }

    @Test func aCoveredPlaceWithoutItsMessageIsNoticed() throws {
        var scene = Scene(messages: 5)
        try scene.apply(scene.frames.subscribed(1...3, asOf: 4), .replay)
        try scene.apply(
            scene.frames.event([scene.frames.message(5)], covers: [4...5], prev: 4, asOf: 6))
        #expect(scene.complaints == ["a place is covered and its message never came"])
    }

    @Test func aMessageThatComesTwiceIsNoticed() throws {
        var scene = Scene(messages: 3)
        try scene.apply(scene.frames.subscribed(1...3, asOf: 4), .replay)
        try scene.apply(
            scene.frames.event([scene.frames.message(3)], covers: [3...3], prev: 3, asOf: 4))
        #expect(scene.complaints == ["a message came twice"])
    }

    @Test(arguments: [(4, 5, "m3"), (5, 4, "m4"), (9, 10, "m9")])
    func aMessageThatWasNotSentSoIsNoticed(seq: Int, rev: Int, id: String) throws {
        var scene = Scene(messages: 5)
        try scene.apply(scene.frames.subscribed(1...3, asOf: 4), .replay)
        let message = scene.frames.message(seq, rev: rev, id: id)
        try scene.apply(scene.frames.event([message], covers: [seq...seq], prev: 4, asOf: 5))
        #expect(scene.complaints.contains("a message is not what was sent"))
    }

    @Test func anEditThatNeverCameIsNoticed() throws {
        var scene = Scene(messages: 3)
        try scene.apply(scene.frames.subscribed(1...3, asOf: 4), .replay)
        scene.room.edit(2, due: 0)
        _ = scene.room.insert(due: 0)
        let message = scene.frames.message(4, rev: 6)
        var told = scene
        try scene.apply(scene.frames.event([message], covers: [4...4], prev: 4, asOf: 6))
        #expect(scene.complaints == ["a message is held as it was before an edit"])
        let edited = scene.frames.message(2, rev: 5)
        try told.apply(
            told.frames.event([edited, message], covers: [2...2, 4...4], prev: 4, asOf: 6))
        #expect(told.complaints == [] && told.holding.isWhole(told.room))
    }

    @Test func aFrameAheadOfTheLogIsNoticed() throws {
        var scene = Scene(messages: 3)
        try scene.apply(scene.frames.subscribed(1...3, asOf: 5), .replay)
        #expect(scene.complaints == ["a frame is ahead of the log"])
    }

    @Test func anotherEpochForgetsAndIsCounted() throws {
        var scene = Scene(messages: 3)
        try scene.apply(scene.frames.subscribed(1...3, asOf: 4), .replay)
        scene.holding.disconnect()
        try scene.apply(scene.frames.subscribed(3...3, asOf: 4, epoch: "f"), .replay)
        #expect(scene.holding.runs.ranges == [3...3] && scene.ledger.resets == 1)
    }

    @Test func anEventWithAGapBeforeItMovesNothing() throws {
        var scene = Scene(messages: 5)
        try scene.apply(scene.frames.subscribed(1...3, asOf: 4), .replay)
        try scene.apply(
            scene.frames.event([scene.frames.message(5)], covers: [5...5], prev: 5, asOf: 6))
        #expect(scene.holding.asOf == 4 && scene.complaints == [])
        #expect(!scene.holding.isWhole(scene.room))
    }
}
