import Chat
import JSON
import Ports
import SQLite
import Wire

/// Answers queries from the file, each from one snapshot: a read transaction, which neither waits
/// for the writer nor blocks it. Owned and used by one thread; a second thread needs its own
/// reader. A query about one conversation costs some ten microseconds, a page in proportion to its
/// length; no cost depends on the length of the conversation.
package final class Reader {
    let rows: Rows
    /// The most bytes that the messages of one answer may take; an answer holds those that fit, and
    /// at least one.
    let bytes: Int
    /// How far the file may be believed.
    let coverage: CacheCoverage
    private let connection: Connection
    private let begin: Statement
    private let end: Statement
    let memo: CatchUpMemo
    /// The file of a log, which nobody else has.
    private let place: FilePlace?

    /// A reader with a connection of its own.
    /// - Parameter bytes: the most bytes that the messages of one answer may take; `limits.reply`.
    /// - Throws: `CacheError`, if the file can't be opened.
    package init(_ store: Store, bytes: Int = .max) throws(CacheError) {
        connection = try store.readingConnection()
        begin = try connection.prepare("BEGIN")
        end = try connection.prepare("COMMIT")
        rows = try Rows(connection)
        self.bytes = bytes
        place = store.isOrigin ? store.place : nil
        coverage = CacheCoverage(rows: rows, isOrigin: store.isOrigin)
        memo = try CatchUpMemo(connection, rows, coverage)
    }

    /// The virtual machine steps of all reads so far: their cost, whatever the machine's load.
    package var steps: Int { connection.steps }

    /// The estimated bytes that are kept of what catch-ups read.
    package var keptBytes: Int { memo.bytes }

    /// Answers from the cache.
    /// - Throws: `RequestError` for a query that has no answer (no such conversation or anchor, a
    ///   foreign cursor), `CacheError` if the file can't be read.
    package func answer(_ query: Query) throws -> Answer {
        try atOneMoment {
            switch query {
            case .load(let id):
                let log = try log(id)
                return .loaded(
                    Loaded(
                        record: try rows.record(log, isWhole: true), head: log.head,
                        lastMessage: try rows.lastMessage(log), cached: try coverage.cached(log)))
            case .page(let id, let request):
                return .page(try page(try log(id), request))
            case .catchUp(let id, let have, let limit, let bytes):
                return .catchUp(
                    try catchUp(try memo.notes(of: id), have, limit: limit, bytes: bytes))
            case .view(let id, let user):
                return .view(try rows.view(try log(id), for: user))
            case .ids(let id, let places):
                return .ids(try ids(try log(id), places))
            case .conversations(let user, let limit, let cursor, let unread):
                var list = try list(of: user, limit: limit, cursor: cursor)
                if unread { list.unread = try rows.unread(of: user) }
                return .conversations(list)
            case .conversationsSince(let user, let token, let limit, let unread):
                var changes = try list(of: user, since: token, limit: limit)
                if unread { changes.unread = try rows.unread(of: user) }
                return .conversationsSince(changes)
            case .participants(let id, let request):
                return .participants(try participants(try log(id), request))
            case .listed(let user): return .listed(try heads(ofList: user))
            case .place(let id, let message):
                return .place(try rows.messages.place(try log(id).cid, id: message))
            case .confirm(let id, let head):
                return .confirmation(try coverage.confirmation(try log(id), of: head))
            }
        }
    }

    /// Answers as an origin: the reading half of the server API.
    /// - Throws: as the other overload.
    package func answer(_ query: HistoryQuery) throws -> HistoryAnswer {
        try atOneMoment { try answered(query) }
    }

    private func answered(_ query: HistoryQuery) throws -> HistoryAnswer {
        switch query {
        case .conversation(let id, let reader):
            return .conversation(try rows.view(try log(id), for: reader))
        case .conversations(let user, let limit, let cursor):
            return .conversations(try list(of: user, limit: limit, cursor: cursor))
        case .conversationsSince(let user, let token, let limit):
            return .conversationsSince(try list(of: user, since: token, limit: limit))
        case .listed(let user): return .listed(try heads(ofList: user))
        case .message(let id, let message):
            let found = try rows.messages.message(try log(id).cid, id: message)
            guard let found else { throw RequestError.noMessage }
            return .message(found)
        case .page(let id, let request):
            return .page(try page(try log(id), request))
        case .changes(let id, let since, let mark, let limit, let recordAbove):
            return .changes(
                try changes(
                    try log(id), since: since, mark: mark, limit: limit,
                    recordAbove: recordAbove))
        case .heads(let ids):
            var heads: [ID: Head] = [:]
            for id in ids { heads[id.id] = try rows.conversations.log(id)?.head }
            return .heads(heads)
        case .participants(let id, let request, let reader):
            return .participants(
                try participants(reader.map { try log(id, for: $0) } ?? log(id), request))
        case .reactions(let id, let message, let request, let user):
            return .reactions(try reactions(to: message, try log(id, for: user), request))
        case .ownReactions(let id, let after, let before, let user):
            let log = try log(id, for: user)
            return .ownReactions(
                try rows.reactions.own(log.cid, of: user, after: after, before: before))
        case .mentions(let id, let after, let limit, let user):
            return .mentions(try mentions(of: user, try log(id), after: after, limit: limit))
        // No follower of this log exists that another branch of it could mislead.
        case .provided(_, let query):
            return try answered(query)
        }
    }

    /// The number of messages in the file, tombstones included.
    /// - Throws: `CacheError`, if the file can't be read.
    package func messageCount() throws(CacheError) -> Int {
        try rows.conversations.list().messages
    }

    private func atOneMoment<Value>(_ read: () throws -> Value) throws -> Value {
        guard place?.isReadable != false else { throw Self.unreadable }
        try begin.run()
        do {
            let value = try read()
            try end.run()
            return value
        } catch {
            // Ends the transaction after any error; a failure here adds no information.
            if connection.isInTransaction { try? end.run() }
            throw error
        }
    }

    private static let unreadable = RequestError(
        .originFileChanged, "something else changed the origin's file")

    func log(_ id: String) throws -> LogRow {
        guard let log = try rows.conversations.log(id) else { throw RequestError.noConversation }
        return log
    }

    /// The log of a conversation in which the user takes part.
    private func log(_ id: String, for user: String) throws -> LogRow {
        let log = try log(id)
        guard let member = try rows.members.member(log.cid, user), member.isMember else {
            throw RequestError.noConversation
        }
        return log
    }

    private func reactions(
        to id: String, _ log: LogRow, _ request: ReactionsRequest
    ) throws -> ReactionList {
        guard let message = try rows.messages.message(log.cid, id: id) else {
            throw RequestError.noMessage
        }
        // What is left of those to a deleted message waits for the purge.
        if message.isDeleted { return ReactionList(entries: [], total: 0, hasMore: false) }
        return ReactionList(
            try rows.reactions.page(log.cid, at: message.seq, request), of: try message.reactions(),
            request)
    }

    private func mentions(
        of user: String, _ log: LogRow, after: Int, limit: Int
    ) throws -> MentionList {
        guard let member = try rows.members.member(log.cid, user), member.isMember else {
            throw RequestError.noConversation
        }
        let start = max(member.joinedSeq, log.head.floor - 1)
        return MentionList(
            places: try rows.mentions.page(
                log.cid, of: user, above: max(start, after), limit: limit),
            total: try rows.mentions.count(log.cid, of: user, above: start))
    }

    func ids(_ log: LogRow, _ places: [Int]) throws(CacheError) -> [Int: String] {
        try rows.messages.ids(log.cid, at: places.sorted())
    }

    private func participants(
        _ log: LogRow, _ request: ParticipantsRequest
    ) throws(CacheError) -> ParticipantList {
        ParticipantList(
            participants: try rows.members.page(log.cid, request).map(\.json),
            total: try rows.members.total(log))
    }
}
