import TestSupport

/// Follows one subscription from its answer on, change by change: in a dense log each event holds
/// exactly the changes after the last, and nothing twice; of a slow reader's a gap may stand in
/// their place. That is stricter than a true `have`, which a needless gap, a repeat or an `asOf`
/// that stays behind would leave true.
struct SubscriptionTrace {
    /// The newest change that was told.
    private(set) var position: Int
    /// The newest place that was told.
    private var top: Int
    private let epoch: String?
    private let mayBeShed: Bool

    /// Begins with the answer to `subscribeMessages`.
    ///
    /// - Parameter mayBeShed: Whether the reader is a slow one.
    /// - Throws: `TestFailure` where the answer contradicts itself.
    init(answer: JSONValue, mayBeShed: Bool = false) throws {
        self.mayBeShed = mayBeShed
        let head = answer["head"]
        position = try answer.required("asOf")
        top = try head.required("seq")
        epoch = head["epoch"].string
        guard position == head["rev"].int else {
            throw TestFailure("an answer stands at \(position), its head elsewhere")
        }
        let messages = (answer["deltas"].array ?? []).map { $0["message"] }
        let seqs = messages.compactMap { $0["seq"].int }
        let covers = try Intervals(answer["covers"])
        guard Set(seqs).count == messages.count, seqs.allSatisfy(covers.contains) else {
            throw TestFailure("an answer holds a message twice, or does not prove its place")
        }
        guard (seqs.max() ?? 0) <= top, messages.allSatisfy({ $0["rev"].int ?? 0 <= position })
        else { throw TestFailure("an answer holds more than its head") }
    }

    /// Takes the next event of the conversation's log.
    ///
    /// - Throws: `TestFailure` where a change is missing, or comes twice.
    mutating func take(_ event: JSONValue) throws {
        guard event["head"]["epoch"].string == epoch else { throw TestFailure("another epoch") }
        guard event["prev"].int == position else {
            throw TestFailure("an event continues from \(event["prev"]), not from \(position)")
        }
        let asOf: Int = try event.required("asOf")
        let revs: [Int]
        switch event["event"].string {
        case "gap": return try takeGap(event, asOf)
        case "conversation":
            let rev: Int = try event["conversation"].required("rev")
            // In front of a gap it proves nothing yet.
            if asOf == position, rev > position, mayBeShed { return }
            revs = [rev]
        default: revs = try takeMessages(event)
        }
        guard revs == Array(position + 1..<asOf + 1), !revs.isEmpty else {
            throw TestFailure("between \(position) and \(asOf) came the changes \(revs)")
        }
        guard event["head"]["rev"].int == asOf, event["head"]["seq"].int == top else {
            throw TestFailure("an event stands at \(asOf), its head elsewhere")
        }
        position = asOf
    }

    private mutating func takeGap(_ event: JSONValue, _ asOf: Int) throws {
        guard mayBeShed else { throw TestFailure("a reader that keeps up got a gap") }
        guard asOf > position else { throw TestFailure("a gap at \(asOf), after \(position)") }
        position = asOf
        top = try event["head"].required("seq")
    }

    private mutating func takeMessages(_ event: JSONValue) throws -> [Int] {
        let covers = try Intervals(event["covers"])
        return try (event["deltas"].array ?? []).map { delta in
            let seq: Int = try delta["message"].required("seq")
            if delta["type"] == "inserted" { top += 1 }
            guard delta["type"] == "inserted" ? seq == top : seq <= top else {
                throw TestFailure("\(delta["type"]) \(seq) comes behind \(top)")
            }
            guard covers.contains(seq) else { throw TestFailure("place \(seq) is not proved") }
            return try delta["message"].required("rev")
        }
    }
}
