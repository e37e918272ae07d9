/// Judges what a client held while a failover lost the end of a log: two masters gave the same
/// numbers to different changes, and the log that was kept may have got a new epoch for that.
///
/// In the epoch that both have, a client holds what the one had or what the other has. A mixture of
/// both it may hold only while it knows that there may be changes which it is not told of; and
/// what was lost only until it was told that all is well again.
package struct ForkOracle: Sendable {
    /// The log that goes on. Of the epoch that both have, it knows all that the new master wrote.
    let kept: Oracle
    /// The log as the old master had it.
    let lost: Oracle
    /// The epoch that both have.
    let epoch: String
    /// The last change that both have.
    let common: Int

    /// - Parameters:
    ///   - kept: the log that goes on, in all its epochs.
    ///   - lost: the log as the old master had it, in the epoch that both have.
    ///   - common: the last change that both have.
    package init(kept: Truth, lost: Truth, epoch: String, common: Int) {
        self.kept = Oracle(kept)
        self.lost = Oracle(lost)
        self.epoch = epoch
        self.common = common
    }

    /// Judges a client's holder of the conversation after every frame that it recorded.
    ///
    /// - Parameters:
    ///   - earlier: what the client held when the recording began.
    ///   - isLate: whether it connected when the old master counted no more.
    /// - Returns: The faults, each with the number of its frame; at most 20.
    package func judge(
        _ recording: [ChatTestClient.Step], _ conversation: String, from earlier: Holder,
        isLate: Bool
    ) -> [String] {
        var isWarned = isLate
        let (faults, end) = ClientSession.replay(recording, conversation, from: earlier) {
            before, holder, state in
            // What was said before the end of the old master was noticed was true when it was said.
            if state == "offline" { isWarned = true }
            // What it held when it came, it has not asked about yet.
            guard holder.isSubscribed else { return [] }
            let isOpen = holder.isOpen || state != "online"
            return check(before, holder, isOpen: isOpen, mayBeLost: isOpen || !isWarned)
        }
        // Who has gone may have gone with what was lost.
        return faults.isEmpty && end.isSubscribed ? Array(kept.check(end).prefix(10)) : faults
    }

    private func check(
        _ before: Oracle.Before, _ holder: Holder, isOpen: Bool, mayBeLost: Bool
    ) -> [String] {
        guard holder.epoch == epoch else { return kept.checkStep(from: before, to: holder) }
        let faults = kept.check(holder)
        if faults.isEmpty || mayBeLost && lost.check(holder).isEmpty { return [] }
        return isOpen ? mixtureFaults(holder) : faults
    }

    /// What even a mixture of both logs does not allow.
    private func mixtureFaults(_ holder: Holder) -> [String] {
        let logs = [kept, lost].compactMap { $0.truth.logs[epoch] }
        return holder.held.compactMap { slot, value in
            let rev = value["rev"].int ?? -1
            let isKnown = logs.contains { log in
                log.changes[rev].map { $0.slot == slot && $0.value == value } ?? false
            }
            guard isKnown else { return "slot \(slot) has a value that neither log gave it" }
            let last = logs[0].lastChange(of: slot, atMost: min(holder.asOf, common)) ?? 0
            return rev < last ? "slot \(slot) has the value of \(rev), but changed in \(last)" : nil
        }
    }
}
