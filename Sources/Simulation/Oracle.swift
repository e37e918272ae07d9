import Chat
import JSON
import Wire

/// Judges what clients are sent against the truth: `Sources/README.md`, "The oracle", made exact
/// for a dense and lossless feed. Called for every single frame after the client has applied it;
/// stateless.
struct Oracle {
    let origin: Origin
    /// Whether it judges a gateway whose log lives elsewhere.
    var isReplica = false

    /// Whether the frame is true by itself, and the holder after it.
    /// - Throws: `Violation` if not.
    func check(_ frame: FrameContent, _ conversation: String, before: Holding, after: Holding)
        throws(Violation)
    {
        if isReplica {
            return try checkReplica(frame, conversation, before: before, after: after)
        }
        guard let log = origin.archive.log(conversation, epoch: frame.head.epoch) else {
            throw Violation("epoch \(frame.head.epoch) never was")
        }
        try require(
            frame.head == log.head(asOf: frame.head.rev), "a head that never was: \(frame.head)")
        try require(frame.asOf <= frame.head.rev, "asOf \(frame.asOf) above head \(frame.head.rev)")
        try require(!frame.isOpen, "open, though the feed is whole")
        try checkValues(frame, log)
        try checkProof(frame, log)
        try checkOrder(frame, log, before)
        try check(after, log)
    }

    /// A user who was removed is sent nothing written after that, unless they rejoined: in at least
    /// one of the logs that the frame may be of.
    func checkRemoval(_ frame: FrameContent, _ conversation: String, of user: String)
        throws(Violation)
    {
        guard let newest = frame.values.map(\.rev).max() else { return }
        let logs =
            isReplica
            ? origin.archive.logs(conversation, having: frame.head)
            : origin.archive.log(conversation, epoch: frame.head.epoch).map { [$0] } ?? []
        let removals = logs.map { $0.removal(of: user) ?? .max }
        guard let removal = removals.max(), newest > removal else { return }
        throw Violation("\(user) was removed at \(removal) and is sent what \(newest) wrote")
    }

    /// An answer that misses a change which its reader was acknowledged says `open`; or the log has
    /// lost that change, and a reader who names it is told `reset`.
    func checkReach(
        _ frame: FrameContent, _ conversation: String, _ least: Client.Least?
    ) throws(Violation) {
        guard let least, !frame.isOpen, !frame.isReset else { return }
        // A log of another epoch may have the change, too: it keeps what it did not lose.
        let keeps =
            frame.head.epoch == least.head.epoch
            || !least.isNamed
                && origin.archive.logs(conversation, having: frame.head).contains {
                    $0.keeps(least.head)
                }
        if keeps, frame.asOf >= least.head.rev,
            !least.isNamed || !isRefuted(least, by: frame.head, conversation)
        {
            return
        }
        let present = origin.archive.logs(conversation, having: least.head)
        try require(
            !least.isNamed && !present.contains { $0.ended == nil && $0.has(least.head) },
            "as of \(frame.asOf) of \(frame.head), and misses what was acknowledged: "
                + "\(least.head)\(least.isNamed ? ", which it names" : "")")
    }

    /// Nobody who saw a conversation is told that it is not there, if they took part in each log of
    /// that name, and there was one at all times since.
    func checkUnknown(_ conversation: String, to user: String) throws(Violation) {
        let logs = origin.archive.all[conversation] ?? []
        let tookPart = logs.allSatisfy { log in
            log.records.allSatisfy { $0.participants.contains(user) }
        }
        let isUnbroken = logs.dropFirst().allSatisfy { log in
            logs.contains { $0.ended == log.began }
        }
        try require(
            !tookPart || !isUnbroken || logs.allSatisfy { $0.ended != nil },
            "\(user) takes part in \(conversation) and is told that it is not there")
    }

    /// Whether the log that a frame is of has not the change that its reader names.
    func isRefuted(_ least: Client.Least?, by head: Head, _ conversation: String) -> Bool {
        guard let least, least.isNamed else { return false }
        return !origin.archive.logs(conversation, having: head).contains { $0.has(least.head) }
    }

    // MARK: - The frame

    /// Each value is, byte by byte, what the log had at that rev.
    func checkValues(_ frame: FrameContent, _ log: ModelLog) throws(Violation) {
        for value in frame.values {
            guard let message = log.message(at: value.rev), message.seq == value.slot else {
                throw Violation("slot \(value.slot) never had rev \(value.rev)")
            }
            try require(
                value.json.bytes == message.json,
                "slot \(value.slot) is not what rev \(value.rev) wrote")
            if !isReplica, let type = value.type { try checkType(type, value, message, log) }
        }
        if let record = frame.record {
            try require(record.rev <= log.rev, "the record never had rev \(record.rev)")
            guard log.changes[record.rev - 1].slot == 0 else {
                throw Violation("rev \(record.rev) wrote no record")
            }
            let object = try record.json.members("conversation")
            let truth = log.record(asOf: record.rev)
            try require(
                object["title"]?.string == truth.title
                    && object["participantCount"]?.int == truth.participants.count,
                "the record is not what rev \(record.rev) wrote")
        }
    }

    private func checkType(
        _ type: DeltaType, _ value: FrameContent.Value, _ message: EncodedMessage, _ log: ModelLog
    ) throws(Violation) {
        // A value new to a holder is an insertion, even a tombstone; a value of a slot that it had
        // is not.
        switch (value.via, type) {
        case (.live, .inserted):
            try require(
                log.rev(of: value.slot, asOf: value.rev - 1) == 0, "inserted, but was there before")
        case (.live, .updated), (.replay, .updated):
            try require(!message.isDeleted, "a tombstone came as an update")
        case (_, .deleted):
            try require(message.isDeleted, "deleted, but is no tombstone")
        case (.live, _), (.replay, .inserted), (.cache, .inserted):
            break
        default:
            throw Violation("a delta \(type) by way of \(value.via.map(\.rawValue) ?? "nothing")")
        }
    }

    /// The frame brings exactly what it covers, and its gaps are well-formed.
    private func checkProof(_ frame: FrameContent, _ log: ModelLog) throws(Violation) {
        let brought = Coverage(places: frame.values.map(\.slot))
        try require(
            frame.covers == brought,
            "covers \(frame.covers), but brings \(brought), in dense numbering")
        try require(
            frame.covers.intersection(frame.missing).isEmpty, "a place is covered and in a gap")
        for gap in frame.gaps {
            let places = gap.before - gap.after - 1
            try require(
                gap.after >= 0 && places > 0 && gap.before <= frame.head.seq + 1,
                "a gap from \(gap.after) to \(gap.before)")
            try require(
                gap.missing == places, "a gap that counts \(gap.missing ?? -1) of \(places)")
            let causes: [GapCause] = frame.source == .gap ? [.slow] : [.limit, .cold]
            try require(causes.contains(gap.cause), "a gap of cause \(gap.cause.rawValue)")
        }
        for cause in [GapCause.slow, .limit] {
            try require(frame.gaps.count { $0.cause == cause } <= 16, "more than 16 gaps")
        }
        for boundary in frame.boundaries {
            for end in [boundary.newest, boundary.oldest] {
                try require(end.seq <= log.highest, "a boundary at \(end.seq), above the log")
                try checkID(of: end, log)
            }
        }
    }

    /// A cache need not know the ids of messages that only the client holds.
    func checkID(of end: Boundary.End, _ log: ModelLog) throws(Violation) {
        try require(
            end.id.map { $0 == log.message(end.seq).id } ?? isReplica,
            "a boundary's id is not that of place \(end.seq)")
    }

    /// The frame continues exactly where the one before it ended, with each change once.
    private func checkOrder(_ frame: FrameContent, _ log: ModelLog, _ before: Holding)
        throws(Violation)
    {
        if frame.source == .page {
            if let position = before.position {
                try require(
                    frame.asOf == position,
                    "a page as of \(frame.asOf), the stream is at \(position)")
            }
            for value in frame.values {
                try require(
                    value.rev == log.rev(of: value.slot, asOf: frame.asOf),
                    "a page's slot \(value.slot) is not as of \(frame.asOf)")
            }
            return
        }
        guard frame.source != .subscription else {
            return try require(
                before.position.map { $0 <= frame.asOf } ?? true
                    || before.head?.epoch != frame.head.epoch,
                "a subscription begins before the stream's position")
        }
        guard let position = before.position, let prev = frame.prev else {
            throw Violation("an event without a subscription, or without prev")
        }
        try require(
            before.head?.epoch == frame.head.epoch,
            "an event of another epoch than the subscription's")
        try require(prev == position, "prev \(prev), the frame before was as of \(position)")
        try require(prev <= frame.asOf, "asOf went back from \(prev) to \(frame.asOf)")
        try checkSpan(frame, log, prev)
    }

    /// Each change between `prev` and `asOf` is in the frame, once and in order, or its slot is in
    /// the gap.
    private func checkSpan(_ frame: FrameContent, _ log: ModelLog, _ prev: Int) throws(Violation) {
        let revs = prev + 1..<frame.asOf + 1
        switch frame.source {
        case .messages:
            try require(
                frame.values.map(\.rev) == Array(revs),
                "changes \(frame.values.map(\.rev)) between \(prev) and \(frame.asOf)")
            try require(frame.head.rev == frame.asOf, "a live event's head is not its asOf")
        case .record:
            // Before a gap comes the latest record, which moves nothing.
            let rev = frame.record?.rev ?? 0
            try require(
                frame.asOf == prev ? rev > prev : rev == frame.asOf && revs.count == 1,
                "the record of rev \(rev) between \(prev) and \(frame.asOf)")
        case .gap:
            let missing = frame.missing
            for rev in revs where log.changes[rev - 1].slot > 0 {
                let slot = log.changes[rev - 1].slot
                try require(missing.contains(slot), "slot \(slot) changed and is not in the gap")
            }
        case .subscription, .page:
            break
        }
    }

    // MARK: - The holder

    /// No held slot's value is older than its last change at or below `asOf`, and nothing is
    /// missing silently.
    func check(_ holding: Holding, _ log: ModelLog) throws(Violation) {
        guard let head = holding.head else { return }
        try require(holding.asOf <= head.rev, "asOf \(holding.asOf) is above the head")
        // A client that never subscribed was never given the record.
        let first = holding.revs[0] == nil ? 1 : 0
        for run in [Coverage.Run(0, 0)] + holding.runs.runs {
            for slot in stride(from: max(first, run.low), through: run.high, by: 1) {
                let due = log.rev(of: slot, asOf: holding.asOf)
                guard let rev = holding.revs[slot] else {
                    throw Violation("slot \(slot) is held without a value")
                }
                try require(
                    rev >= due, "slot \(slot) has rev \(rev), \(due) is due at \(holding.asOf)")
            }
        }
        guard let position = holding.position, position <= log.rev else { return }
        let highest = log.highest(asOf: position)
        let accounted = holding.accounted
        // Messages below the oldest run are not missing.
        let known = isReplica ? accounted.first : nil
        let low = max(holding.runs.first ?? known ?? max(1, highest), head.floor)
        try require(
            accounted.contains(low, highest),
            "held \(holding.runs), told missing \(holding.told), of \(highest) places")
        try require((accounted.last ?? 0) <= log.highest, "holds a place that never was")
    }

    /// Everything that the client holds is the newest, and it holds everything up to the head.
    func checkWhole(_ holding: Holding, _ conversation: String) throws(Violation) {
        guard let head = holding.head else { throw Violation("nothing is held") }
        let logs = origin.archive.logs(conversation, having: head)
        guard let log = logs.last(where: { $0.ended == nil }) ?? logs.last else {
            throw Violation("a head that never was: \(head)")
        }
        try require(log.ended == nil, "the log is gone, and the client was not told")
        try require(holding.asOf == log.rev, "asOf \(holding.asOf) of \(log.rev) at rest")
        try check(holding, log)
        // Of a log that was trimmed entirely there is nothing to hold.
        let highest = head.floor <= log.highest ? log.highest : 0
        try require(
            holding.runs.runs.count <= 1 && holding.runs.last ?? 0 == highest,
            "holds \(holding.runs) of \(log.highest) places at rest")
    }
}
