import TestSupport

/// Follows one subscription from its answer on, change by change: with a dense log and a reader
/// that keeps up, each event holds exactly the changes after the last, and nothing twice. That is
/// stricter than a true `have`, which a needless gap or a repeat would leave true.
struct SubscriptionTrace {
    /// The newest change that was told.
    private(set) var position: Int
    /// The newest place that was told.
    private var top: Int
    private let epoch: String?

    /// Begins with the answer to `subscribeMessages`.
    ///
    /// - Throws: `TestFailure` where the answer contradicts itself.
    init(answer: JSONValue) throws {
        let head = answer["head"]
        position = try answer.required("asOf")
        top = try head.required("seq")
        epoch = head["epoch"].string
        guard position == head["rev"].int else {
            throw TestFailure("an answer stands at \(position), its head elsewhere")
        }
        let messages = (answer["deltas"].array ?? []).map { $0["message"] }
        let seqs = messages.compactMap { $0["seq"].int }
        guard Set(seqs).count == messages.count else {
            throw TestFailure("an answer holds a message twice")
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
        case "conversation": revs = [try event["conversation"].required("rev")]
        case "messages":
            let deltas = event["deltas"].array ?? []
            revs = try deltas.map { try $0["message"].required("rev") }
            for delta in deltas where delta["type"] == "inserted" {
                top += 1
                guard delta["message"]["seq"].int == top else {
                    throw TestFailure("place \(delta["message"]["seq"]) comes where \(top) is next")
                }
            }
        default: throw TestFailure("a reader that keeps up got a gap")
        }
        guard revs == Array(position + 1..<asOf + 1), !revs.isEmpty else {
            throw TestFailure("between \(position) and \(asOf) came the changes \(revs)")
        }
        position = asOf
    }
}
