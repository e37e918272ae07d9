/// Judges what a client holds: *each held slot has a value that the log of its epoch really had,
/// not older than the slot's last change at or below `asOf`* (`Sources/README.md`). `check` looks
/// at all that is held; `checkStep` only at what one frame can have changed, and finds the same
/// faults when it is called for every frame.
package struct Oracle: Sendable {
    /// What of a holder must be remembered to judge the next frame.
    package struct Before: Sendable {
        let epoch: String?
        let asOf: Int
        let runs: Intervals

        package init(_ holder: Holder) {
            epoch = holder.epoch
            asOf = holder.asOf
            runs = holder.runs
        }
    }

    package let truth: Truth

    package init(_ truth: Truth) { self.truth = truth }

    /// All faults of the holder, as sentences; none, if its `have` is true.
    package func check(_ holder: Holder) -> [String] {
        guard let (log, faults) = common(holder) else { return unknownEpoch(holder) }
        return faults + holder.runs.ranges.flatMap { $0 }.compactMap { fault(of: $0, holder, log) }
            + [recordFault(holder, log)].compactMap(\.self)
    }

    /// The faults that the last frame can have brought.
    package func checkStep(from before: Before, to holder: Holder) -> [String] {
        guard before.epoch == holder.epoch else { return check(holder) }
        guard let (log, common) = common(holder) else { return unknownEpoch(holder) }
        var suspects = Set(holder.touched.filter { $0 > 0 })
        for range in holder.runs.subtracting(before.runs).ranges { suspects.formUnion(range) }
        if before.asOf < holder.asOf {
            for rev in (before.asOf + 1)...holder.asOf {
                if let slot = log.changes[rev]?.slot, slot > 0 { suspects.insert(slot) }
            }
        }
        return common
            + suspects.sorted().filter(holder.runs.contains)
            .compactMap { fault(of: $0, holder, log) }
            + [recordFault(holder, log)].compactMap(\.self)
    }

    private func unknownEpoch(_ holder: Holder) -> [String] {
        holder.head.isNull ? [] : ["the epoch of the holder never was"]
    }

    /// What holds for the whole of it, whatever the slots.
    private func common(_ holder: Holder) -> (Truth.Log, [String])? {
        guard let epoch = holder.epoch, let log = truth.logs[epoch] else { return nil }
        var faults: [String] = []
        let headRev = holder.head["rev"].int ?? -1
        let headSeq = holder.head["seq"].int ?? -1
        if headRev < 0 || headRev > log.headRev {
            faults.append("head.rev is \(headRev), the log's \(log.headRev)")
        }
        if holder.asOf > headRev { faults.append("asOf \(holder.asOf) is above head \(headRev)") }
        if let mark = log.marks[headRev], holder.head["mark"].string != mark {
            faults.append("the mark of rev \(headRev) is not the log's")
        }
        // A page asked for without a subscription leaves the head, and may lie above it.
        if holder.isSubscribed, let high = holder.runs.ranges.last?.upperBound, high > headSeq {
            faults.append("place \(high) is held, above head.seq \(headSeq)")
        }
        let floor = holder.head["floor"].int ?? 1
        if let low = holder.runs.ranges.first?.lowerBound, low < max(1, floor) {
            faults.append("place \(low) is held, below the floor \(floor)")
        }
        return (log, faults)
    }

    private func fault(of slot: Int, _ holder: Holder, _ log: Truth.Log) -> String? {
        guard let value = holder.held[slot] else {
            return "place \(slot) is held without a value (asOf \(holder.asOf))"
        }
        return fault(of: slot, value, asOf: holder.asOf, log)
    }

    private func recordFault(_ holder: Holder, _ log: Truth.Log) -> String? {
        holder.record.flatMap { fault(of: 0, Truth.slotZero($0), asOf: holder.asOf, log) }
    }

    private func fault(
        of slot: Int, _ value: JSONValue, asOf: Int, _ log: Truth.Log
    ) -> String? {
        let rev = value["rev"].int ?? -1
        if let last = log.lastChange(of: slot, atMost: asOf), rev < last {
            return "slot \(slot) has the value of rev \(rev), but changed in \(last) (asOf \(asOf))"
        }
        guard let known = log.changes[rev] else {
            return "slot \(slot) has a value of rev \(rev), which the log never had"
        }
        guard known.slot == slot, known.value == value else {
            return "slot \(slot) has a value that rev \(rev) did not give it"
        }
        return nil
    }
}
