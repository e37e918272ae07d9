import Chat
import JSON
import Wire

/// The truth about one conversation: its log as the plainest list of what was written, every value
/// of every slot, from the first change on. Nothing is ever forgotten, so that it can say what was
/// true as of any change. Slow and obvious on purpose; a value, owned by the `Origin`.
package struct ModelLog: Sendable {
    /// The value that a change gave its slot.
    package enum Value: Sendable {
        case record(Record)
        case message(EncodedMessage)
    }

    /// Change number `rev` is `changes[rev - 1]`.
    package struct Change: Sendable {
        package let slot: Int
        package let value: Value
        /// The number of the commit that made it.
        package let commit: Int
        /// The highest `seq` right after it.
        let highest: Int
    }

    package let conversation: String
    package let epoch: String
    package private(set) var changes: [Change] = []
    /// The revs of each slot, ascending.
    private var revs: [[Int]] = [[]]
    /// The commit that deleted the conversation.
    package var ended: Int?
    /// How far each user has read, and the commit that said so.
    package var markers: [String: [(commit: Int, seq: Int)]] = [:]

    package init(_ record: Record, epoch: String, commit: Int) {
        conversation = record.id
        self.epoch = epoch
        append(0, .record(record), commit)
    }

    /// A log of its own, for tests that need no origin.
    package init(conversation: String = "c1", epoch: String = "e1") {
        let start = Timestamp(milliseconds: 0)
        let record = Record(
            id: conversation, title: nil, participants: ["alice", "bob"], admins: [],
            metadata: .emptyObject, createdAt: start, updatedAt: start, rev: 1, unknown: [])
        self.init(record, epoch: epoch, commit: 1)
    }

    // MARK: - Writing

    private mutating func append(_ slot: Int, _ value: Value, _ commit: Int) {
        if slot == revs.count { revs.append([]) }
        revs[slot].append(rev + 1)
        changes.append(Change(slot: slot, value: value, commit: commit, highest: revs.count - 1))
    }

    /// The rev that the next change gets.
    package var nextRev: Int { changes.count + 1 }

    /// Writes slot 0; the record's `rev` is set here.
    package mutating func write(_ record: Record, commit: Int) -> Record {
        var record = record
        record.rev = nextRev
        append(0, .record(record), commit)
        return record
    }

    /// Writes the next message.
    package mutating func insert(
        id: String? = nil, author: String = "alice", body: String = "hello",
        at time: Timestamp? = nil, commit: Int = 1
    ) -> EncodedMessage {
        let seq = highest + 1
        let time = time ?? Timestamp(milliseconds: Int64(seq) * 1000)
        return write(
            .encode(
                id: id ?? "id\(seq)", conversation: conversation, seq: seq, rev: nextRev,
                author: author, body: body, attachment: nil, metadata: nil, createdAt: time,
                editedAt: nil, deleted: false, unknown: []), commit)
    }

    /// Writes a message anew, or its tombstone.
    package mutating func change(
        _ seq: Int, delete isDeleted: Bool, body: String = "changed", commit: Int = 1
    ) -> EncodedMessage {
        let old = message(seq)
        return write(
            .encode(
                id: old.id, conversation: conversation, seq: seq, rev: nextRev, author: old.author,
                body: body, attachment: nil, metadata: nil, createdAt: old.createdAt,
                editedAt: old.createdAt, deleted: isDeleted, unknown: []), commit)
    }

    /// Writes slot 0 as it was.
    package mutating func changeRecord() { _ = write(record(), commit: 1) }

    private mutating func write(_ message: EncodedMessage, _ commit: Int) -> EncodedMessage {
        append(message.seq, .message(message), commit)
        return message
    }

    // MARK: - Reading

    /// The number of changes.
    package var rev: Int { changes.count }
    /// The highest `seq`.
    package var highest: Int { revs.count - 1 }
    package var head: Head { head(asOf: rev) }

    /// The highest `seq` right after change `rev`.
    package func highest(asOf rev: Int) -> Int { rev == 0 ? 0 : changes[rev - 1].highest }

    package func head(asOf rev: Int) -> Head {
        Head(epoch: epoch, seq: highest(asOf: rev), rev: rev, mark: mark(at: rev))
    }

    /// What this log alone has at `rev`.
    package func mark(at rev: Int) -> String { rev == 0 ? "" : "\(epoch)-\(rev)" }

    /// The number of the slot's newest change at or below `asOf`, 0 if there is none.
    package func rev(of slot: Int, asOf: Int? = nil) -> Int {
        guard slot < revs.count else { return 0 }
        guard let asOf else { return revs[slot].last ?? 0 }
        return revs[slot].last { $0 <= asOf } ?? 0
    }

    /// The message at the place, as of a change at which it was there.
    package func message(_ seq: Int, asOf: Int? = nil) -> EncodedMessage {
        guard let message = message(at: rev(of: seq, asOf: asOf)) else {
            preconditionFailure("no message was at place \(seq) then")
        }
        return message
    }

    /// The message that a change wrote, nil if there is no such change or it wrote slot 0.
    package func message(at rev: Int) -> EncodedMessage? {
        guard rev >= 1, rev <= changes.count, case .message(let message) = changes[rev - 1].value
        else { return nil }
        return message
    }

    package func record(asOf: Int? = nil) -> Record {
        guard case .record(let record) = changes[rev(of: 0, asOf: asOf) - 1].value else {
            preconditionFailure("slot 0 holds a message")
        }
        return record
    }

    /// The newest message that is not deleted.
    package func last(asOf: Int) -> EncodedMessage? {
        for seq in stride(from: highest(asOf: asOf), to: 0, by: -1) {
            let message = message(seq, asOf: asOf)
            if !message.isDeleted { return message }
        }
        return nil
    }

    /// The last change that a commit, or one before it, made; 0 if the log was not there yet.
    package func rev(atCommit commit: Int) -> Int {
        (changes.lastIndex { $0.commit <= commit } ?? -1) + 1
    }

    /// Whether the conversation was there right after the commit.
    package func isThere(atCommit commit: Int) -> Bool {
        guard let first = changes.first, first.commit <= commit else { return false }
        return ended.map { commit < $0 } ?? true
    }

    /// A user's own fields.
    package func reader(_ user: String, atCommit commit: Int) -> ReaderState? {
        let rev = rev(atCommit: commit)
        guard record(asOf: rev).participants.contains(user) else { return nil }
        let read = markers[user]?.last { $0.commit <= commit }?.seq ?? 0
        let unread = stride(from: read + 1, through: highest(asOf: rev), by: 1).count { seq in
            let message = message(seq, asOf: rev)
            return !message.isDeleted && message.author != user
        }
        return ReaderState(lastReadSeq: read, unreadCount: unread)
    }
}
