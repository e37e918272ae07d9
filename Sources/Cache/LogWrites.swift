import Chat
import JSON
import SQLite
import Wire

/// The statements that write a log, all inside a transaction of the writer. They know the tables
/// but no rules: the caller decides what may be written.
package final class LogWrites {
    private let listHead: Statement
    private let touch: Statement
    private let markList: Statement
    private let insertMark: Statement
    private let insertConversation: Statement
    private let updateHead: Statement
    private let updateRecord: Statement
    private let remove: Statement
    private let insertMessage: Statement
    private let updateMessage: Statement
    /// Those that write participants.
    package let members: MemberWrites
    private let reactions: ReactionWrites
    private let mentions: MentionWrites
    private let tails: TailWrites
    private let connection: Connection

    private static let removal = """
        UPDATE conversation SET removed = ?, touched = ?, updated_at = unixepoch() * 1000
        WHERE cid = ?
        """

    package init(_ connection: Connection) throws(CacheError) {
        self.connection = connection
        // Not with RETURNING: SQLite would keep a statement journal just for that.
        listHead = try connection.prepare("SELECT touched, mark FROM state WHERE id = 0")
        touch = try connection.prepare(
            "UPDATE state SET touched = ?, messages = messages + ? WHERE id = 0")
        markList = try connection.prepare("UPDATE state SET mark = ? WHERE id = 0")
        insertMark = try connection.prepare("INSERT INTO incarnation VALUES (?, ?, ?)")
        insertConversation = try connection.prepare(
            """
            INSERT INTO conversation (id, epoch, seq, rev, mark, floor, record_rev, last_seq,
                activity, touched, title, metadata, unknown, created_at, updated_at, people,
                created_by, members)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        updateHead = try connection.prepare(
            """
            UPDATE conversation SET seq = ?, rev = ?, mark = ?, record_rev = ?, last_seq = ?,
                activity = ?, touched = ?, members = ?, rest_up_to = ? WHERE cid = ?
            """)
        updateRecord = try connection.prepare(
            """
            UPDATE conversation SET title = ?, metadata = ?, unknown = ?, updated_at = ?
            WHERE cid = ?
            """)
        remove = try connection.prepare(Self.removal)
        insertMessage = try connection.prepare(
            """
            INSERT INTO message
                (cid, seq, rev, id, author, created_at, deleted, sent, json, touched, address)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        updateMessage = try connection.prepare(
            """
            UPDATE message SET rev = ?, deleted = ?, json = ?, content_rev = ?, address = ?
            WHERE cid = ? AND seq = ?
            """)
        members = try MemberWrites(connection)
        reactions = try ReactionWrites(connection)
        mentions = try MentionWrites(connection)
        tails = try TailWrites(connection)
    }

    // MARK: the list

    /// Counts one change of the list and returns its rev there.
    /// - Parameters:
    ///   - messages: the number of messages that the change adds.
    ///   - mark: the mark of the writing process.
    /// - Throws: `CacheError`, if the file can't be written.
    package func touch(messages: Int = 0, mark: String) throws(CacheError) -> Int {
        let last = try list()
        let rev = last.rev + 1
        try write(list: rev, messages: messages)
        if last.mark != mark { try markList(from: rev, mark) }
        return rev
    }

    /// The list's newest rev, and its mark there.
    /// - Parameter known: the mark that it probably is.
    /// - Throws: `CacheError`, if the file can't be read.
    package func list(like known: String = "") throws(CacheError) -> (rev: Int, mark: String) {
        try listHead.first { (rev: $0.int(0), mark: $0.text(1, like: known)) } ?? (0, "")
    }

    /// Sets the list's rev, and adds to the number of messages.
    /// - Throws: `CacheError`, if the file can't be written.
    package func write(list rev: Int, messages: Int) throws(CacheError) {
        touch.bind(1, rev)
        touch.bind(2, messages)
        try touch.run()
    }

    /// Records that from this rev on the process with this mark writes the list.
    /// - Throws: `CacheError`, if the file can't be written.
    package func markList(from rev: Int, _ mark: String) throws(CacheError) {
        markList.bind(1, mark)
        try markList.run()
        try insertMark(0, from: rev, mark)
    }

    /// Tokens of the list from before this rev are no longer confirmed.
    /// - Throws: `CacheError`, if the file can't be written.
    package func raiseFloor(ofList rev: Int) throws(CacheError) {
        try connection.execute("UPDATE state SET floor = max(floor, \(rev))")
    }

    /// Records that from this rev on the process with this mark writes the log (0: the list).
    /// - Throws: `CacheError`, if the file can't be written.
    package func insertMark(_ cid: Int, from rev: Int, _ mark: String) throws(CacheError) {
        insertMark.bind(1, cid)
        insertMark.bind(2, rev)
        insertMark.bind(3, mark)
        try insertMark.run()
    }

    // MARK: conversations

    /// Adds a conversation and returns its number.
    /// - Parameter people: for a distinct one, the hash of its participants.
    /// - Throws: `CacheError`, if the file can't be written.
    package func insert(
        _ log: LogRow, _ record: RecordRow, people: [UInt8]?
    ) throws(CacheError) -> Int {
        insertConversation.bind(1, log.id)
        insertConversation.bind(2, log.head.epoch)
        insertConversation.bind(3, log.head.seq)
        insertConversation.bind(4, log.head.rev)
        insertConversation.bind(5, log.head.mark)
        insertConversation.bind(6, log.head.floor)
        insertConversation.bind(7, log.recordRev)
        insertConversation.bind(8, log.lastSeq)
        insertConversation.bind(9, log.activity.milliseconds)
        insertConversation.bind(10, log.touched)
        insertConversation.bind(11, record.title)
        insertConversation.bind(12, record.metadata.bytes)
        insertConversation.bind(13, record.unknown.stored)
        insertConversation.bind(14, record.createdAt.milliseconds)
        insertConversation.bind(15, record.updatedAt.milliseconds)
        insertConversation.bind(16, people)
        insertConversation.bind(17, record.createdBy)
        insertConversation.bind(18, log.members)
        try insertConversation.run()
        return connection.lastInsertedRow
    }

    /// Writes the log's head and its other counters.
    /// - Throws: `CacheError`, if the file can't be written.
    package func update(_ log: LogRow) throws(CacheError) {
        updateHead.bind(1, log.head.seq)
        updateHead.bind(2, log.head.rev)
        updateHead.bind(3, log.head.mark)
        updateHead.bind(4, log.recordRev)
        updateHead.bind(5, log.lastSeq)
        updateHead.bind(6, log.activity.milliseconds)
        updateHead.bind(7, log.touched)
        updateHead.bind(8, log.members)
        updateHead.bind(9, log.restUpTo)
        updateHead.bind(10, log.cid)
        try updateHead.run()
    }

    /// Writes the fields of slot 0.
    /// - Throws: `CacheError`, if the file can't be written.
    package func update(_ record: RecordRow, of log: LogRow) throws(CacheError) {
        updateRecord.bind(1, record.title)
        updateRecord.bind(2, record.metadata.bytes)
        updateRecord.bind(3, record.unknown.stored)
        updateRecord.bind(4, record.updatedAt.milliseconds)
        updateRecord.bind(5, log.cid)
        try updateRecord.run()
    }

    /// Marks the conversation as removed; its messages are purged later, and so are its
    /// participants, if they are many.
    /// - Throws: `CacheError`, if the file can't be written.
    package func remove(_ log: LogRow) throws(CacheError) {
        let isSmall = log.members.map { $0 <= Purge.chunk } ?? false
        remove.bind(1, isSmall ? 1 : 3)
        remove.bind(2, log.touched)
        remove.bind(3, log.cid)
        try remove.run()
        if isSmall { try members.leaveAll(log) }
    }

    // MARK: messages

    /// Writes the head after messages that were added above `seq`: as that of the tail, which
    /// begins there if the log has none yet.
    /// - Throws: `CacheError`, if the file can't be written.
    package func noteTail(of log: inout LogRow, above seq: Int) throws(CacheError) {
        let tail = log.tail ?? seq
        log.tail = tail
        try tails.note(log, above: tail)
    }

    /// Folds the log's tail, if it has one: before any change but a message that is sent.
    /// - Throws: `CacheError`, if the file can't be written.
    package func fold(_ log: inout LogRow) throws(CacheError) {
        guard let tail = log.tail else { return }
        log.tail = nil
        try tails.fold(log.cid, above: tail)
        try update(log)
    }

    /// Adds a message to the tail; the head is `log`'s.
    /// - Parameters:
    ///   - hash: the hash of what its author sent.
    ///   - mentioned: whom it mentions.
    /// - Throws: `CacheError`, if the file can't be written.
    package func insert(
        _ message: EncodedMessage, hash: [UInt8]?, mentioning mentioned: Mentioned = Mentioned(),
        into log: LogRow
    ) throws(CacheError) {
        if !mentioned.isEmpty { try mentions.insert(mentioned, message, in: log.cid) }
        insertMessage.bind(1, log.cid)
        insertMessage.bind(2, message.seq)
        insertMessage.bind(3, message.rev)
        insertMessage.bind(6, message.createdAt.milliseconds)
        insertMessage.bind(7, message.isDeleted)
        insertMessage.bind(8, hash)
        insertMessage.bind(10, log.touched)
        insertMessage.bind(11, message.address.stored)
        // Each is read once, into the row: a copy would be made and freed for that.
        try insertMessage.lending(4, message.id) { () throws(CacheError) in
            try insertMessage.lending(5, message.author) { () throws(CacheError) in
                try insertMessage.lending(9, message.json) { () throws(CacheError) in
                    try insertMessage.run()
                }
            }
        }
    }

    /// Gives a message a new value.
    /// - Parameter rev: that of its last value.
    /// - Throws: `CacheError`, if the file can't be written.
    package func update(
        _ message: EncodedMessage, from rev: Int, in log: LogRow
    ) throws(CacheError) {
        precondition(log.tail == nil, "a tail has new messages alone")
        try tails.move(log.cid, from: rev, to: message.rev)
        updateMessage.bind(1, message.rev)
        updateMessage.bind(2, message.isDeleted)
        updateMessage.bind(3, message.json)
        updateMessage.bind(4, message.contentRev)
        updateMessage.bind(5, message.address.stored)
        updateMessage.bind(6, log.cid)
        updateMessage.bind(7, message.seq)
        try updateMessage.run()
    }

    /// A message mentions others than before.
    /// - Throws: `CacheError`, if the file can't be written.
    package func mention(
        _ mentioned: Mentioned, by message: EncodedMessage, in log: LogRow
    ) throws(CacheError) {
        try mentions.drop(log.cid, at: message.seq)
        try mentions.insert(mentioned, message, in: log.cid)
    }

    /// Nobody reacts any longer to a message that was deleted.
    /// - Throws: `CacheError`, if the file can't be written.
    package func dropReactions(to message: EncodedMessage, in log: LogRow) throws(CacheError) {
        try reactions.drop(log.cid, at: message.seq)
    }

    /// A user's reaction to a message begins or ends with the message's value.
    /// - Throws: `CacheError`, if the file can't be written.
    package func react(
        _ message: EncodedMessage, of user: String, key: String, isOn: Bool, at: Timestamp,
        in log: LogRow
    ) throws(CacheError) {
        if isOn {
            try reactions.begin(message, of: user, key: key, at: at, in: log.cid)
        } else {
            try reactions.end(message, of: user, key: key, in: log.cid)
        }
    }
}
