import TestSupport
import Testing

/// An oracle that can't find a lie proves nothing: here it is given lies.
@Suite struct OracleTests {
    static let epoch = "e1"

    static func message(_ seq: Int, rev: Int, body: String = "first") -> JSONValue {
        ["id": .string("m\(seq)"), "seq": .int(seq), "rev": .int(rev), "body": .string(body)]
    }

    static func head(seq: Int, rev: Int, floor: Int = 1) -> JSONValue {
        [
            "epoch": .string(epoch), "seq": .int(seq), "rev": .int(rev),
            "mark": .string("mark\(rev)"), "floor": .int(floor),
        ]
    }

    /// Record at rev 1, three messages at 2 to 4, message 2 edited at 5.
    static func truth() throws -> Truth {
        var truth = Truth()
        try truth.learn(head: head(seq: 3, rev: 5))
        try truth.learn(record: ["id": "c", "rev": 1, "title": "t"], epoch: epoch)
        for seq in 1...3 { try truth.learn(message: message(seq, rev: seq + 1), epoch: epoch) }
        try truth.learn(message: message(2, rev: 5, body: "second"), epoch: epoch)
        return truth
    }

    static func answer(
        _ messages: [JSONValue], covers: JSONValue, asOf: Int, head: JSONValue
    ) -> JSONValue {
        [
            "deltas": .array(messages.map { ["type": "inserted", "message": $0] }),
            "covers": covers, "gaps": [], "asOf": .int(asOf), "head": head,
            "conversation": ["id": "c", "rev": 1, "title": "t"],
        ]
    }

    private func faults(_ answer: JSONValue) throws -> (step: [String], whole: [String]) {
        var holder = Holder()
        let before = Oracle.Before(holder)
        try holder.apply(.subscribed(answer, withHave: false))
        let oracle = Oracle(try Self.truth())
        return (oracle.checkStep(from: before, to: holder), oracle.check(holder))
    }

    @Test func theTruthHasNoFault() throws {
        let newest = [Self.message(1, rev: 2), Self.message(2, rev: 5, body: "second")]
        let answer = Self.answer(
            newest, covers: [[1, 2]], asOf: 5, head: Self.head(seq: 3, rev: 5))
        let found = try faults(answer)
        #expect(found.step.isEmpty && found.whole.isEmpty)
        #expect(try Self.truth().log?.unknownChanges == [])
    }

    @Test func anOlderValueIsRightBelowTheChange() throws {
        let answer = Self.answer(
            [Self.message(2, rev: 3)], covers: [[2, 2]], asOf: 4, head: Self.head(seq: 3, rev: 5))
        #expect(try faults(answer).whole.isEmpty)
    }

    static let lies: [(String, JSONValue)] = [
        (
            "an outdated value",
            answer([message(2, rev: 3)], covers: [[2, 2]], asOf: 5, head: head(seq: 3, rev: 5))
        ),
        (
            "a place without a value",
            answer([message(1, rev: 2)], covers: [[1, 2]], asOf: 3, head: head(seq: 3, rev: 5))
        ),
        (
            "a value that never was",
            answer(
                [message(1, rev: 2, body: "x")], covers: [[1, 1]], asOf: 4,
                head: head(seq: 3, rev: 5))
        ),
        (
            "a change that never was",
            answer([message(1, rev: 9)], covers: [[1, 1]], asOf: 4, head: head(seq: 3, rev: 5))
        ),
        (
            "a head beyond the log",
            answer([], covers: [], asOf: 4, head: head(seq: 3, rev: 6))
        ),
        (
            "a place above the head",
            answer([message(3, rev: 4)], covers: [[3, 3]], asOf: 4, head: head(seq: 2, rev: 5))
        ),
        (
            "an asOf above the head",
            answer([], covers: [], asOf: 5, head: head(seq: 3, rev: 4))
        ),
    ]

    @Test(arguments: lies) func aLieIsFound(_ lie: (name: String, answer: JSONValue)) throws {
        let found = try faults(lie.answer)
        #expect(!found.step.isEmpty, "\(lie.name), by the step")
        #expect(!found.whole.isEmpty, "\(lie.name), by the whole")
    }

    @Test func anAsOfThatRisesOverAnUntoldChangeIsFound() throws {
        var holder = Holder()
        try holder.apply(
            .subscribed(
                Self.answer(
                    [Self.message(2, rev: 3)], covers: [[2, 2]], asOf: 4,
                    head: Self.head(seq: 3, rev: 4)), withHave: false))
        let before = Oracle.Before(holder)
        let event: JSONValue = [
            "event": "messages", "conversation": "c", "deltas": [], "covers": [], "prev": 4,
            "asOf": 5, "head": Self.head(seq: 3, rev: 5),
        ]
        try holder.apply(.event(event))
        #expect(!Oracle(try Self.truth()).checkStep(from: before, to: holder).isEmpty)
    }

    @Test func aTruthWithTwoValuesForAChangeIsRefused() throws {
        var truth = try Self.truth()
        #expect(throws: TestFailure.self) {
            try truth.learn(message: Self.message(1, rev: 2, body: "other"), epoch: Self.epoch)
        }
        var other = Self.head(seq: 3, rev: 5)
        other["mark"] = "forked"
        #expect(throws: TestFailure.self) { try truth.learn(head: other) }
    }

    @Test func aChangeThatWasNeverLearnedIsKnownToBeMissing() throws {
        var truth = try Self.truth()
        try truth.learn(message: Self.message(3, rev: 7), epoch: Self.epoch)
        #expect(truth.log?.unknownChanges == [6])
    }
}
