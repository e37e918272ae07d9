import TestSupport
import Testing

/// A log of three changes that both masters have, and a fourth and fifth of which each has its own.
@Suite struct ForkOracleTests {
    private static func truth(_ name: String) throws -> Truth {
        var truth = Truth()
        try truth.learn(record: ["id": "c", "rev": 1, "title": "t"], epoch: OracleTests.epoch)
        for seq in 1...2 {
            try truth.learn(
                message: OracleTests.message(seq, rev: seq + 1), epoch: OracleTests.epoch)
        }
        for seq in 3...4 {
            try truth.learn(
                message: OracleTests.message(seq, rev: seq + 1, body: name),
                epoch: OracleTests.epoch)
        }
        return truth
    }

    private static let common = (1...2).map { OracleTests.message($0, rev: $0 + 1) }

    private static func own(_ seq: Int, _ name: String) -> JSONValue {
        OracleTests.message(seq, rev: seq + 1, body: name)
    }

    /// What a client recorded that subscribed, and was told of the upstream what is named.
    private func faults(
        _ messages: [JSONValue], asOf: Int = 5, isOpen: Bool = false, states: [String] = ["online"],
        isLate: Bool = false
    ) throws -> [String] {
        var places = Intervals()
        for seq in messages.compactMap({ $0["seq"].int }) { places.insert(seq...seq) }
        let top = places.ranges.last?.upperBound ?? 0
        var answer = OracleTests.answer(
            messages, covers: places.json, asOf: asOf,
            head: OracleTests.head(seq: top, rev: 5))
        if isOpen { answer["open"] = true }
        var recording: [ChatTestClient.Step] = [
            .sent(id: 1, method: "connect", params: [:]),
            .received(["id": 1, "result": ["upstream": ["state": .string(states[0])]]]),
            .sent(id: 2, method: "subscribeMessages", params: ["conversation": "c"]),
            .received(["id": 2, "result": answer]),
        ]
        for state in states.dropFirst() {
            recording.append(.received(["event": "upstream", "state": .string(state)]))
        }
        let oracle = ForkOracle(
            kept: try Self.truth("kept"), lost: try Self.truth("lost"), epoch: OracleTests.epoch,
            common: 3)
        return oracle.judge(recording, "c", from: Holder(), isLate: isLate)
    }

    @Test func whatWasKeptIsNoFault() throws {
        let messages = Self.common + [Self.own(3, "kept"), Self.own(4, "kept")]
        #expect(try faults(messages).isEmpty)
        #expect(
            try faults(messages, states: ["online", "offline", "online"], isLate: true).isEmpty)
    }

    @Test func whatWasLostMayBeHeldOnlyUntilAllIsWellAgain() throws {
        let messages = Self.common + [Self.own(3, "lost"), Self.own(4, "lost")]
        // At the end of the run nobody may have it, which is the one fault of each of the first.
        let end = try faults(messages)
        #expect(end.allSatisfy { !$0.hasPrefix("frame") } && !end.isEmpty)
        #expect(try faults(messages, states: ["online", "offline"]) == end)
        let again = try faults(messages, states: ["online", "offline", "online"])
        #expect(again.first?.hasPrefix("frame 5") == true)
        #expect(try faults(messages, isLate: true).first?.hasPrefix("frame 3") == true)
    }

    @Test func aMixtureMayBeHeldOnlyWhileItIsOpen() throws {
        let messages = Self.common + [Self.own(3, "lost"), Self.own(4, "kept")]
        #expect(try faults(messages, isOpen: true).allSatisfy { !$0.hasPrefix("frame") })
        #expect(try faults(messages).first?.hasPrefix("frame 3") == true)
    }

    @Test func whatNeitherHasIsAlwaysAFault() throws {
        let invented = Self.common + [Self.own(3, "invented")]
        #expect(try faults(invented, asOf: 4, isOpen: true).first?.hasPrefix("frame 3") == true)
        let old = [OracleTests.message(1, rev: 1), Self.own(3, "lost")]
        #expect(try faults(old, asOf: 4, isOpen: true).first?.hasPrefix("frame 3") == true)
    }
}
