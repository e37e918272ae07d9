import Chat
import JSON
import Ports
import Rules
import Wire

/// The truth about one conversation: its log as a plain list of every value of every slot ever
/// written. Nothing is ever forgotten, so that it knows the state as of any change. Slow and
/// obvious on purpose; a value, owned by the `Origin`.
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
        /// The commit that made it.
        package let commit: Int
        /// The highest `seq` after it.
        let highest: Int
        /// The mark, unique to this log.
        let mark: String
        /// What began or ended, if it is a reaction, and when.
        let reaction: (deed: Reacting, at: Timestamp)?
        /// What its author sent, if it is a new message.
        let sent: MessageContent?
    }

    package let conversation: String
    package let epoch: String
    /// Another master may continue from some change with its own, under the same epoch.
    let branch: Int
    /// The oldest message that was not trimmed.
    package private(set) var floor = 1
    /// The first commit with this log; a log that continues another has older changes.
    let began: Int
    package private(set) var changes: [Change] = []
    /// The revs of each slot, ascending.
    private var revs: [[Int]] = [[]]
    /// The commit that deleted the conversation.
    package var ended: Int?
    /// The newest change whose mark is no longer kept.
    package var base = 0
    /// How far each user has read, with the commits.
    package var markers: [String: [(commit: Int, seq: Int)]] = [:]

    package init(_ record: Record, epoch: String, commit: Int) {
        conversation = record.id
        self.epoch = epoch
        branch = 0
        began = commit
        append(0, .record(record), commit)
    }

    /// A log of its own, for tests without an origin.
    package init(conversation: String = "c1", epoch: String = "e1") {
        let start = Timestamp(milliseconds: 0)
        let record = Record(
            id: conversation, title: nil, participants: ["alice", "bob"], admins: [],
            metadata: .emptyObject, createdAt: start, updatedAt: start, rev: 1, unknown: [])
        self.init(record, epoch: epoch, commit: 1)
    }

    // MARK: - Writing

    private mutating func append(
        _ slot: Int, _ value: Value, _ commit: Int, _ reaction: (Reacting, Timestamp)? = nil,
        sent: MessageContent? = nil
    ) {
        if slot == revs.count { revs.append([]) }
        revs[slot].append(rev + 1)
        let mark = branch == 0 ? "\(epoch)-\(rev + 1)" : "\(epoch).\(branch)-\(rev + 1)"
        changes.append(
            Change(
                slot: slot, value: value, commit: commit, highest: revs.count - 1, mark: mark,
                reaction: reaction, sent: sent))
    }

    /// A log that continues change `rev` of another one, under another epoch or as another branch.
    package init(_ log: ModelLog, upTo rev: Int, epoch: String, branch: Int, commit: Int) {
        conversation = log.conversation
        self.epoch = epoch
        self.branch = branch
        began = commit
        floor = min(log.floor, log.highest(asOf: rev) + 1)
        changes = Array(log.changes.prefix(rev))
        revs = log.revs.map { $0.filter { $0 <= rev } }.filter { !$0.isEmpty }
        // What is lost was lost in order: the markers with it, in whole commits but for a marker
        // that came with a change which is kept.
        let lost = rev < log.rev ? log.changes[rev].commit : .max
        let highest = log.highest(asOf: rev)
        markers = log.markers.mapValues { markers in
            markers.filter { $0.commit < lost || $0.commit == lost && $0.seq <= highest }
        }
    }

    /// Trims messages below a seq.
    package mutating func raiseFloor(to place: Int) { floor = max(floor, place) }

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
        return insert(
            MessageContent(body: body), id: id ?? "id\(seq)", author: author,
            at: time ?? Timestamp(milliseconds: Int64(seq) * 1000), commit: commit)
    }

    /// Writes the next message.
    /// - Parameter sent: what its author sent; nil: the content.
    package mutating func insert(
        _ content: MessageContent, sent: MessageContent? = nil, id: String, author: String,
        at time: Timestamp, commit: Int
    ) -> EncodedMessage {
        let message = EncodedMessage.encode(
            id: id, conversation: conversation, seq: highest + 1, rev: nextRev,
            author: author, body: content.body, attachment: content.attachment,
            metadata: content.metadata, createdAt: time, editedAt: nil, deleted: false,
            replyTo: content.replyTo, mentions: content.mentions, mentionAll: content.mentionAll,
            unknown: content.unknown)
        append(message.seq, .message(message), commit, sent: sent ?? content)
        return message
    }

    /// Writes a new value of a message, or its tombstone.
    package mutating func change(
        _ seq: Int, delete isDeleted: Bool, body: String = "changed", commit: Int = 1
    ) -> EncodedMessage {
        change(seq, to: MessageContent(body: body), delete: isDeleted, commit: commit)
    }

    /// Writes a new value of a message, or its tombstone.
    package mutating func change(
        _ seq: Int, to content: MessageContent, delete isDeleted: Bool, commit: Int
    ) -> EncodedMessage {
        let old = message(seq)
        return write(
            .encode(
                id: old.id, conversation: conversation, seq: seq, rev: nextRev, author: old.author,
                body: content.body, attachment: content.attachment, metadata: content.metadata,
                createdAt: old.createdAt, editedAt: old.createdAt, deleted: isDeleted,
                replyTo: content.replyTo, mentions: content.mentions,
                mentionAll: content.mentionAll,
                reactions: shown(of: old), contentRev: old.contentRev.map { _ in nextRev },
                unknown: content.unknown), commit)
    }

    /// Writes a message's reactions as one of them begins or ends.
    mutating func react(
        _ seq: Int, _ deed: Reacting, _ shown: [Reaction], at time: Timestamp, commit: Int
    ) -> EncodedMessage {
        let old = message(seq)
        guard let value = try? EncodedMessage.decode(json: old.json) else {
            preconditionFailure("the log wrote a message that can't be read")
        }
        return write(
            .encode(
                id: old.id, conversation: conversation, seq: seq, rev: nextRev, author: old.author,
                body: value.body, attachment: value.attachment, metadata: value.metadata,
                createdAt: old.createdAt, editedAt: value.editedAt, deleted: false,
                replyTo: value.replyTo, mentions: value.mentions, mentionAll: value.mentionAll,
                reactions: shown, contentRev: old.contentRev ?? old.rev, unknown: value.unknown),
            commit, (deed, time))
    }

    /// Writes slot 0 unchanged.
    package mutating func changeRecord() { _ = write(record(), commit: 1) }

    private mutating func write(
        _ message: EncodedMessage, _ commit: Int, _ reaction: (Reacting, Timestamp)? = nil
    ) -> EncodedMessage {
        append(message.seq, .message(message), commit, reaction)
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
        Head(
            epoch: epoch, seq: highest(asOf: rev), rev: rev, mark: mark(at: rev), floor: floor)
    }

    /// The mark at `rev`, unique to this log.
    package func mark(at rev: Int) -> String { rev == 0 ? "" : changes[rev - 1].mark }

    /// Whether the log has this change.
    package func has(_ head: Head) -> Bool { head.epoch == epoch && keeps(head) }

    /// Whether the log has this change, of this epoch or of an earlier one.
    func keeps(_ head: Head) -> Bool { head.rev <= rev && mark(at: head.rev) == head.mark }

    /// Whether the log has this change, and still keeps its mark.
    func proves(_ head: Head) -> Bool { head.rev > base && has(head) }

    /// The mark of the change before the newest one.
    var markBefore: String { mark(at: rev - 1) }

    /// The slot's newest change at or below `asOf`; 0 if there is none.
    package func rev(of slot: Int, asOf: Int? = nil) -> Int {
        guard slot < revs.count else { return 0 }
        guard let asOf else { return revs[slot].last ?? 0 }
        return revs[slot].last { $0 <= asOf } ?? 0
    }

    /// The message at this seq, as of a change at which it existed.
    package func message(_ seq: Int, asOf: Int? = nil) -> EncodedMessage {
        guard let message = message(at: rev(of: seq, asOf: asOf)) else {
            preconditionFailure("no message was at place \(seq) then")
        }
        return message
    }

    /// The message that a change wrote; nil if there is no such change or it wrote slot 0.
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

    /// Each value of slot 0.
    var records: [Record] {
        changes.compactMap { if case .record(let record) = $0.value { record } else { nil } }
    }

    /// The change that removed the user; nil for a participant, or a user who never was one.
    package func removal(of user: String) -> Int? {
        var removal: Int?
        for (index, change) in changes.enumerated().reversed() {
            guard case .record(let record) = change.value else { continue }
            if record.participants.contains(user) { return removal }
            removal = index + 1
        }
        return nil
    }

    /// The newest change at or below `rev` that is no reaction.
    func told(_ rev: Int) -> Int {
        changes.prefix(rev).lastIndex { $0.reaction == nil }.map { $0 + 1 } ?? 0
    }

    /// The reactions that a message shows.
    func shown(of message: EncodedMessage) -> [Reaction] {
        guard let shown = try? message.reactions() else {
            preconditionFailure("the log wrote a message that can't be read")
        }
        return shown
    }

    /// Who reacts to a message, oldest first.
    func reactions(to seq: Int) -> [ReactionList.Entry] {
        var entries: [ReactionList.Entry] = []
        for rev in revs[seq] {
            guard let (deed, at) = changes[rev - 1].reaction else {
                if message(at: rev)?.isDeleted == true { entries = [] }
                continue
            }
            if deed.isOn {
                entries.append(.init(user: deed.user, key: deed.key, at: at, rev: rev))
            } else {
                entries.removeAll { $0.user == deed.user && $0.key == deed.key }
            }
        }
        return entries
    }

    /// What the rule of a reaction looks at.
    func view(of deed: Reacting, to message: EncodedMessage) -> ReactionView {
        let entries = reactions(to: message.seq)
        let users = entries.filter { $0.key == deed.key }.map(\.user)
        return ReactionView(
            shown: shown(of: message),
            keys: entries.filter { $0.user == deed.user }.map(\.key),
            next: users.dropFirst(Reaction.namedUsers).first,
            takesPart: record().participants.contains(deed.user))
    }

    /// The newest message that is not deleted.
    package func last(asOf: Int) -> EncodedMessage? {
        for seq in stride(from: highest(asOf: asOf), through: floor, by: -1) {
            let message = message(seq, asOf: asOf)
            if !message.isDeleted { return message }
        }
        return nil
    }

    /// The newest change made by this commit or an earlier one; 0 if the log did not exist yet.
    package func rev(atCommit commit: Int) -> Int {
        (changes.lastIndex { $0.commit <= commit } ?? -1) + 1
    }

    /// Whether the conversation existed after the commit.
    package func isThere(atCommit commit: Int) -> Bool {
        guard began <= commit else { return false }
        return ended.map { commit < $0 } ?? true
    }

    /// The newest message of the user; 0 if there is none.
    func newest(by user: String) -> Int {
        stride(from: highest, to: 0, by: -1).first { message($0).author == user } ?? 0
    }

    /// The user's own fields.
    package func reader(_ user: String, atCommit commit: Int) -> ReaderState? {
        reader(user, asOf: rev(atCommit: commit), atCommit: commit)
    }

    /// The user's own fields inside a commit of several changes, up to one of them.
    /// - Parameter rev: the newest change at the commit, or an earlier one of the same commit.
    package func reader(
        _ user: String, asOf rev: Int, atCommit commit: Int
    ) -> ReaderState? {
        guard record(asOf: rev).participants.contains(user) else { return nil }
        let isWhole = rev == self.rev(atCommit: commit)
        let last = isWhole ? commit : commit - 1
        var read = markers[user]?.last { $0.commit <= last }?.seq ?? 0
        if !isWhole {
            // Sending moves the marker, message by message.
            let own = changes[..<rev].reversed().prefix { $0.commit == commit }
                .filter { $0.slot > 0 && message($0.slot, asOf: rev).author == user }
            read = max(read, own.map(\.slot).max() ?? 0)
        }
        return reader(user, asOf: rev, read: read)
    }

    /// The own fields, as of a change, of a user who has read so far.
    func reader(_ user: String, asOf rev: Int, read: Int) -> ReaderState {
        let unread = stride(from: max(read + 1, floor), through: highest(asOf: rev), by: 1).count {
            seq in
            let message = message(seq, asOf: rev)
            return !message.isDeleted && message.author != user
        }
        return ReaderState(
            lastReadSeq: read, unreadCount: unread,
            unreadMentions: mentions(of: user, above: read, asOf: rev).count)
    }

    /// The seqs of the messages above a place in which others mention a user.
    func mentions(of user: String, above place: Int, asOf rev: Int) -> [Int] {
        let start = max(place, floor - 1, joinedSeq(of: user, asOf: rev))
        return stride(from: start + 1, through: highest(asOf: rev), by: 1).filter { seq in
            let message = message(seq, asOf: rev)
            return message.author != user && message.said.mentioned.includes(user)
        }
    }

    /// The head's seq when the user joined; 0 if the user does not take part.
    func joinedSeq(of user: String, asOf rev: Int) -> Int {
        var joined = 0
        for slot in revs[0].reversed() where slot <= rev {
            guard record(asOf: slot).participants.contains(user) else { break }
            joined = highest(asOf: slot)
        }
        return joined
    }
}
