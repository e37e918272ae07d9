import Chat
import Ports
import SQLite
import Wire

/// The meaning of each `StoreWrite` in the tables: the rules of the cache of another origin. One
/// turn is one transaction of the `ReplicaCache`, which owns this object and begins and commits it.
/// The rows of the conversations that a turn touches are read once and written back at its end, so
/// that each further message costs only its own row.
final class ReplicaTurn {
    private struct Entry: Hashable {
        var log: LogRow
        var replica: ReplicaRow
    }

    /// Conversations with more messages than the retention keeps, because a trim is limited in
    /// size.
    private(set) var untrimmed: Set<ID> = []
    private var untrimmedAtCommit: Set<ID> = []
    private var entries: [ID: Entry] = [:]
    /// The ids of the entries whose rows have changed.
    private var changed: Set<ID> = []
    private var newMessages = 0
    /// The list's rev of this turn; nil until something that lists show has changed.
    private var listRev: Int?

    private let rows: Rows
    private let writes: LogWrites
    private let statements: ReplicaStatements
    private let trim: Trim
    private let path: String
    /// Tells the lists that this process wrote from those of a file that was restored since.
    private let mark: String

    init(_ connection: Connection, path: String, mark: String) throws(CacheError) {
        rows = try Rows(connection)
        writes = try LogWrites(connection)
        statements = try ReplicaStatements(connection)
        trim = try Trim(connection)
        self.path = path
        self.mark = mark
    }

    // MARK: the turn

    /// Performs one write.
    /// - Throws: `CacheError`, with the conversation; the caller must roll the turn back.
    func perform(
        _ write: StoreWrite, keeping retention: Retention, at now: Timestamp
    ) throws(CacheError) {
        do throws(CacheError) {
            switch write {
            case .begin(let record, let head): try begin(record, head)
            case .drop(let id): try drop(id)
            case .trim(let id): try trim(id, retention, now)
            case .message, .record, .stand, .hold, .changesFrom, .jump: try change(write)
            }
        } catch {
            throw error.about(write.conversation)
        }
    }

    /// Writes what the turn still has in memory.
    /// - Throws: `CacheError`, as `perform`.
    func finish() throws(CacheError) {
        for id in changed {
            guard let entry = entries[id] else { continue }
            do throws(CacheError) {
                try statements.update(entry.log, entry.replica)
            } catch {
                throw error.about(id.text)
            }
        }
        if newMessages > 0 { try statements.count(newMessages) }
    }

    /// Discards the turn's state, after a commit or a rollback.
    func forget(isCommitted: Bool) {
        if isCommitted { untrimmedAtCommit = untrimmed } else { untrimmed = untrimmedAtCommit }
        entries.removeAll(keepingCapacity: true)
        changed.removeAll(keepingCapacity: true)
        newMessages = 0
        listRev = nil
    }

    private func change(_ write: StoreWrite) throws(CacheError) {
        guard var entry = try entry(write.conversation) else {
            throw refusal(.failed, "the conversation is not held", "it was not begun")
        }
        let before = entry
        switch write {
        case .message(_, let message, let mark): try keep(message, mark, &entry)
        case .record(let record, let mark, let step): try replace(record, mark, step, &entry)
        case .stand(_, let head, let seen):
            try move(to: head, &entry)
            entry.replica.seen = seen.map { .init(seq: $0.seq, rev: $0.rev, mark: $0.mark) }
        case .hold(_, let coverage, let asOf): try hold(coverage, asOf, entry)
        case .changesFrom(_, let rev): entry.replica.changesFrom = rev
        case .jump(_, let record, let head): try jump(record, head, &entry)
        case .begin, .drop, .trim: break
        }
        if entry != before { set(entry) }
    }

    private func entry(_ id: String) throws(CacheError) -> Entry? {
        if let entry = entries[id.id] { return entry }
        guard let log = try rows.conversations.log(id) else { return nil }
        let entry = Entry(log: log, replica: try rows.replica.row(log.cid))
        entries[id.id] = entry
        return entry
    }

    private func set(_ entry: Entry) {
        entries[entry.log.id.id] = entry
        changed.insert(entry.log.id.id)
    }

    /// Records that the conversation changed in a way that lists show.
    private func list(_ entry: inout Entry) throws(CacheError) {
        if let listRev {
            entry.log.touched = listRev
        } else {
            entry.log.touched = try writes.touch(mark: mark)
            listRev = entry.log.touched
        }
    }

    private func refusal(_ code: CacheError.Code, _ seen: String, _ detail: String) -> CacheError {
        CacheError(code, doing: "write cache", on: path, seen: seen, detail: detail)
    }

    // MARK: conversations

    private func begin(_ record: Record, _ head: Head) throws(CacheError) {
        try drop(record.id)
        let log = LogRow(
            cid: 0, id: record.id, head: head, recordRev: record.rev, lastSeq: 0,
            activity: record.updatedAt, touched: 0)
        let replica = ReplicaRow(
            changesFrom: head.rev, held: 0,
            recordMark: record.rev == head.rev ? head.mark : nil)
        var entry = Entry(log: log, replica: replica)
        try list(&entry)
        entry.log.cid = try writes.insert(entry.log, RecordRow(record), people: nil)
        try seat(record, &entry.log)
        set(entry)
    }

    private func drop(_ id: String) throws(CacheError) {
        untrimmed.remove(id.id)
        guard var entry = try entry(id) else { return }
        try list(&entry)
        try writes.remove(entry.log)
        entries[id.id] = nil
    }

    private func replace(
        _ record: Record, _ mark: String?, _ step: RecordStep?, _ entry: inout Entry
    ) throws(CacheError) {
        let before = entry.log.recordRev
        if record.rev == entry.log.recordRev {
            entry.replica.recordMark = try sameMark(entry.replica.recordMark, mark)
        }
        guard record.rev > entry.log.recordRev else { return }
        entry.log.recordRev = record.rev
        entry.replica.recordMark = mark
        entry.log.activity = max(entry.log.activity, record.updatedAt)
        try list(&entry)
        try writes.update(RecordRow(record), of: entry.log)
        if let step, step.since == before, let members = entry.log.members {
            try follow(step, record, members, &entry.log)
        } else {
            try seat(record, &entry.log)
        }
    }

    /// Applies the departures and arrivals since the record that is held; other participants stay.
    private func follow(
        _ step: RecordStep, _ record: Record, _ members: Int, _ log: inout LogRow
    ) throws(CacheError) {
        for user in step.removed { try writes.members.leave(user, log) }
        let admins = Set(record.admins.map(\.id))
        var last = try statements.lastPlace(log.cid)
        for user in step.joined {
            last += 1
            let seat = ReplicaStatements.Seat(
                user: user, isAdmin: admins.contains(user.id), place: last)
            try statements.take(seat, log, at: record.updatedAt)
        }
        let ruling = Set(try rows.members.admins(log.cid).map(\.id))
        for user in ruling.subtracting(admins) {
            try statements.set(admin: false, user.text, log, at: record.updatedAt)
        }
        for user in admins.subtracting(ruling) {
            try statements.set(admin: true, user.text, log, at: record.updatedAt)
        }
        log.members = record.participantCount
        guard members - step.removed.count + step.joined.count == record.participantCount else {
            throw refusal(
                .contradiction, "those who take part are not as many", "by what changed")
        }
    }

    /// Makes the stored participants those of the record. Writes only those who join, leave or
    /// change: positions must ascend along the list, but may have holes.
    private func seat(_ record: Record, _ log: inout LogRow) throws(CacheError) {
        let admins = Set(record.admins.map(\.id))
        var present: [ID: ReplicaStatements.Seat] = [:]
        for seat in try statements.seats(log.cid) { present[seat.user.id] = seat }
        var seated: Set<ID> = []
        var last = 0
        for user in record.participants where seated.insert(user.id).inserted {
            let seat = present.removeValue(forKey: user.id)
            let isAdmin = admins.contains(user.id)
            if let seat, seat.place > last, seat.isAdmin == isAdmin {
                last = seat.place
                continue
            }
            last = max(last + 1, seat?.place ?? 0)
            try statements.take(
                ReplicaStatements.Seat(user: user, isAdmin: isAdmin, place: last), log,
                at: record.updatedAt)
        }
        for user in present.keys { try writes.members.leave(user.text, log) }
        log.members = seated.count
    }

    // MARK: the stream

    private func move(to head: Head, _ entry: inout Entry) throws(CacheError) {
        guard head.epoch == entry.log.head.epoch else {
            throw refusal(.contradiction, "the log has another epoch", "only a beginning may")
        }
        guard head != entry.log.head else { return }
        if head.floor > entry.log.head.floor {
            try clear(try trim.drop(entry.log.cid, below: head.floor), &entry)
        }
        entry.log.head = head
        try list(&entry)
    }

    private func jump(
        _ record: Record, _ head: Head, _ entry: inout Entry
    ) throws(CacheError) {
        try lift(entry)
        try move(to: head, &entry)
        entry.replica.seen = nil
        entry.replica.changesFrom = head.rev
        try replace(record, record.rev == head.rev ? head.mark : nil, nil, &entry)
    }

    /// Writes the head's rev as `asOf` to the runs at the stream's position. Must run before
    /// `changesFrom` rises, because they are recognized by it.
    private func lift(_ entry: Entry) throws(CacheError) {
        let rev = entry.log.head.rev
        let standing = try rows.coverage.runs(entry.log.cid).filter {
            entry.replica.changesFrom <= $0.asOf && $0.asOf < rev
        }
        for stored in standing {
            try rows.coverage.hold(entry.log.cid, stored.run.low, stored.run.high, asOf: rev)
        }
    }

    private func hold(_ coverage: Coverage, _ asOf: Int, _ entry: Entry) throws(CacheError) {
        for run in coverage.clipped(max(1, entry.log.head.floor), .max).runs {
            try rows.coverage.hold(
                entry.log.cid, run.low, run.high, asOf: asOf, standing: entry.replica.changesFrom)
        }
    }

    // MARK: messages

    private func keep(
        _ message: EncodedMessage, _ mark: String?, _ entry: inout Entry
    ) throws(CacheError) {
        let cid = entry.log.cid
        guard message.seq >= max(1, entry.log.head.floor) else { return }
        if let held = try rows.replica.stamp(cid, at: message.seq) {
            guard held.id.id == message.id.id else {
                throw refusal(
                    .contradiction, "another message has the place", "\(message.seq)")
            }
            if held.rev == message.rev, let known = try sameMark(held.mark, mark), held.mark == nil
            {
                try statements.note(mark: known, at: message.seq, in: cid)
            }
            guard message.rev > held.rev else { return }
            try statements.replace(message, mark: mark, in: cid)
        } else {
            try statements.insert(message, mark: mark, into: cid)
            newMessages += 1
            entry.replica.held += 1
            entry.log.activity = max(entry.log.activity, message.createdAt)
        }
        let isLast = message.seq >= entry.log.lastSeq
        if !message.isDeleted {
            entry.log.show(message.seq)
            if isLast { try list(&entry) }
        } else if message.seq == entry.log.lastSeq {
            try rows.messages.hideLast(of: &entry.log)
            try list(&entry)
        }
    }

    /// Merges two marks of one rev; either may be unknown.
    private func sameMark(_ held: String?, _ told: String?) throws(CacheError) -> String? {
        guard let held, let told, held != told else { return held ?? told }
        throw refusal(.contradiction, "the log has forked", "two marks of one rev")
    }

    private func trim(
        _ id: String, _ retention: Retention, _ now: Timestamp
    ) throws(CacheError) {
        untrimmed.remove(id.id)
        guard var entry = try entry(id),
            let outcome = try trim.trim(
                entry.log, holding: entry.replica.held, to: retention, at: now)
        else { return }
        try lift(entry)
        try clear(outcome, &entry)
        entry.replica.changesFrom = max(entry.replica.changesFrom, outcome.highestRev)
        set(entry)
        if !outcome.isComplete { untrimmed.insert(id.id) }
    }

    /// Updates the row after everything below a place was deleted.
    private func clear(_ outcome: Trim.Outcome, _ entry: inout Entry) throws(CacheError) {
        entry.replica.held -= outcome.messages
        guard 0 < entry.log.lastSeq, entry.log.lastSeq < outcome.floor else { return }
        entry.log.hideLast(next: 0)
        try list(&entry)
    }
}

extension RecordRow {
    /// The record's fields, from another origin.
    fileprivate init(_ record: Record) {
        self.init(
            title: record.title, metadata: record.metadata, unknown: record.unknown,
            createdAt: record.createdAt, updatedAt: record.updatedAt)
    }
}
