import Chat
import Engine
import Ports
import Simulation
import Wire

/// A client as `protocol.md` 1 wants it: what it holds, and nothing else.
struct ModelHolder {
    var epoch = ""
    var asOf = 0
    var runs = Coverage()
    var head: Head?
    /// The rev of the value held, by slot.
    var values: [Int: Int] = [:]

    var have: Have? { head.map { Have(head: $0, asOf: asOf, runs: runs) } }

    /// The answer of `subscribeMessages`.
    mutating func apply(_ resume: Resume, head: Head, record: Int, hadHave: Bool) {
        if resume.isReset || !hadHave || head.epoch != epoch { self = ModelHolder() }
        epoch = head.epoch
        self.head = head
        for delta in resume.deltas { take(delta.message.seq, delta.message.rev) }
        take(0, record)
        runs = runs.union(resume.covers)
        for gap in resume.gaps { runs.remove(gap.after + 1, gap.before - 1) }
        runs.remove(1, head.floor - 1)
        asOf = resume.asOf
    }

    mutating func take(_ seq: Int, _ rev: Int) { values[seq] = max(values[seq] ?? 0, rev) }

    /// What is false about `have`, if anything is.
    func lie(against log: ModelLog) -> String? {
        if epoch != log.epoch { return "epoch \(epoch) is not \(log.epoch)" }
        if asOf > log.rev { return "asOf \(asOf) is above the log's \(log.rev)" }
        for seq in [0] + runs.runs.flatMap({ Array($0.low...$0.high) }) {
            guard let value = values[seq] else { return "slot \(seq) is held without a value" }
            let least = log.rev(of: seq, asOf: asOf)
            if seq > 0 && least == 0 && log.rev(of: seq) == 0 { return "slot \(seq) never was" }
            if value < least { return "slot \(seq) has rev \(value), \(least) was due at \(asOf)" }
            if value > log.rev || log.changes[value - 1].slot != seq {
                return "slot \(seq) has rev \(value), which it never had"
            }
        }
        return nil
    }
}
