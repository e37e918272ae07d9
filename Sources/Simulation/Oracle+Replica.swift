import Chat
import Engine
import JSON
import Wire

/// The oracle's checks of a gateway whose log lives elsewhere: it may lack something and say so,
/// but what it claims to hold must be true, of one and the same log, after every frame.
extension Oracle {
    /// Whether the frame is true by itself, and the holder after it.
    /// - Throws: `Violation` if not.
    func checkReplica(
        _ frame: FrameContent, _ conversation: String, before: Holding, after: Holding
    )
        throws(Violation)
    {
        try require(frame.asOf <= frame.head.rev, "asOf \(frame.asOf) above head \(frame.head.rev)")
        try checkForm(frame)
        try checkOrder(frame, before)
        try among(conversation, frame.head) { log throws(Violation) in
            try checkHead(frame.head, log)
            try checkValues(frame, log)
            if let head = after.head {
                try require(
                    log.has(head), "holds values of another log: \(head), told of \(frame.head)")
            }
            try checkHeld(after, log)
            try check(after, log)
        }
    }

    /// The cached phase is only shown, but its values must have existed at some time.
    func checkShown(_ frame: FrameContent, _ conversation: String) throws(Violation) {
        try checkForm(frame)
        try among(conversation, frame.head) { log throws(Violation) in
            try checkHead(frame.head, log)
            try checkValues(frame, log)
        }
    }

    /// Branches that have not diverged yet have the same head: the check must hold for one of them.
    private func among(
        _ conversation: String, _ head: Head, _ isTrue: (ModelLog) throws(Violation) -> Void
    ) throws(Violation) {
        var seen = Violation("a head that never was: \(head)")
        for log in origin.archive.logs(conversation, having: head).reversed() {
            do throws(Violation) { return try isTrue(log) } catch { seen = error }
        }
        throw seen
    }

    private func checkHead(_ head: Head, _ log: ModelLog) throws(Violation) {
        var truth = log.head(asOf: head.rev)
        // To trim is no change: what one server trimmed, another that knows the same changes may
        // still have.
        let branches = (origin.archive.all[log.conversation] ?? []).filter { $0.epoch == log.epoch }
        let floor = branches.map(\.floor).max() ?? truth.floor
        try require(head.floor <= floor, "floor \(head.floor), it was never above \(truth)")
        truth.floor = head.floor
        try require(head == truth, "a head that never was: \(head)")
    }

    private func checkForm(_ frame: FrameContent) throws(Violation) {
        if frame.source == .messages || frame.source == .subscription {
            try require(
                Coverage(places: frame.values.map(\.slot)).contains(frame.covers),
                "covers \(frame.covers), and does not bring all of it")
        }
        try require(
            frame.covers.intersection(frame.missing).isEmpty, "a place is covered and in a gap")
        for gap in frame.gaps {
            let places = gap.before - gap.after - 1
            try require(
                gap.after >= 0 && places > 0
                    && gap.before <= max(frame.head.seq + 1, frame.head.floor),
                "a gap from \(gap.after) to \(gap.before) of \(frame.head.seq)")
            try require(
                gap.missing == places, "a gap that counts \(gap.missing ?? -1) of \(places)")
        }
        // A page names each of its holes: one between two messages, and one at each end.
        let most = frame.source == .page ? frame.values.count + 1 : 16
        try require(
            frame.gaps.count { $0.cause != .cold && $0.cause != .trimmed } <= most,
            "more than \(most) gaps")
    }

    private func checkOrder(_ frame: FrameContent, _ before: Holding) throws(Violation) {
        let isSameLog = before.head?.epoch == frame.head.epoch
        switch frame.source {
        case .page:
            if isSameLog, let position = before.position {
                try require(
                    frame.asOf == position,
                    "a page as of \(frame.asOf), the stream is at \(position)")
            }
        case .subscription:
            try require(
                !isSameLog || frame.isReset || before.position.map { $0 <= frame.asOf } ?? true,
                "a subscription begins before the stream's position")
        case .messages, .gap, .record:
            guard let position = before.position, let prev = frame.prev else {
                throw Violation("an event without a subscription, or without prev")
            }
            try require(isSameLog, "an event of another epoch than the subscription's")
            try require(
                prev == position, "prev \(prev), the frame before was as of \(position)")
            try require(prev <= frame.asOf, "asOf went back from \(prev) to \(frame.asOf)")
        }
    }

    /// Every held value was written by this log, byte by byte.
    private func checkHeld(_ holding: Holding, _ log: ModelLog) throws(Violation) {
        for run in holding.runs.runs {
            for slot in run.low...run.high {
                guard let rev = holding.revs[slot], let value = holding.values[slot] else {
                    throw Violation("slot \(slot) is held without a value")
                }
                try require(
                    log.message(at: rev)?.json == value.bytes,
                    "slot \(slot) is held with what this log never wrote at \(rev)")
            }
        }
    }

    /// Whether a holder's head is of another log than the other head.
    func isOfOtherLog(_ head: Head, than other: Head, _ conversation: String) -> Bool {
        guard isReplica else { return head.epoch != other.epoch }
        guard head.epoch == other.epoch else { return true }
        return !origin.archive.logs(conversation, having: other)
            .contains { $0.rev < head.rev || $0.has(head) }
    }

    // MARK: - The cache

    /// The cache claims only what it holds: checked row by row.
    /// - Throws: `Violation` if not.
    func check(_ entry: CachedLogs.Entry, _ conversation: String) throws(Violation) {
        try among(conversation, entry.seen ?? entry.head) { log throws(Violation) in
            try require(log.has(entry.head), "stands in another log than values were taken from")
            for (place, row) in entry.rows {
                try require(
                    log.message(at: row.message.rev)?.json == row.message.json,
                    "the row of \(place) is not what rev \(row.message.rev) wrote")
            }
            for (place, asOf) in entry.asOf {
                guard let row = entry.rows[place] else {
                    throw Violation("place \(place) is held without a row")
                }
                let due = asOf >= entry.changesFrom ? entry.head.rev : asOf
                try require(
                    row.message.rev >= log.rev(of: place, asOf: due),
                    "the row of \(place) is of rev \(row.message.rev) and held as of \(due)")
            }
            for place in max(1, entry.head.floor)..<max(1, entry.head.floor, log.highest + 1) {
                let due = log.rev(of: place, asOf: entry.head.rev)
                guard due > entry.changesFrom else { continue }
                try require(
                    entry.rows[place].map { $0.message.rev >= due } ?? false,
                    "place \(place) changed at \(due), above changesFrom \(entry.changesFrom),"
                        + " and its row is missing or older")
            }
            try require(
                entry.record.rev >= log.rev(of: 0, asOf: entry.head.rev),
                "the record is of rev \(entry.record.rev)")
        }
    }
}
