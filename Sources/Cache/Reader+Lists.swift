import JSON
import Ports
import SQLite
import Wire

/// One user's list of conversations: as it is, and what changed in it.
extension Reader {
    /// - Throws: `RequestError.badRequest`, if the cursor was not given out here.
    func list(of user: String, limit: Int, cursor: String?) throws -> ConversationList {
        let behind = try cursor.map { text in
            guard let cursor = ListCursor(text) else {
                throw RequestError.badRequest(
                    "cursor: not a cursor (accepted: the `next` of an earlier answer)")
            }
            return cursor
        }
        // One more than asked for tells whether anything follows.
        let found = try rows.conversations.listed(user, behind: behind, limit: limit + 1)
        let listed = try views(found.prefix(limit), user)
        return ConversationList(
            conversations: listed.views,
            next: listed.count < found.count ? found[listed.count - 1].text : nil,
            total: try rows.conversations.total(user))
    }

    func list(of user: String, since token: String?, limit: Int) throws -> ConversationChanges {
        let list = try rows.conversations.list()
        let now = ListToken(rev: list.rev, mark: list.mark).text
        if let known = try token.flatMap({ try confirmed($0, list) }) {
            let changed = try rows.conversations.changed(user, since: known.rev)
            let gone = try rows.conversations.gone(user, since: known.rev)
            // The limit is one of a list that begins.
            if case let listed = try views(changed, user), listed.count == changed.count {
                let conversations = listed.views
                // An id that was removed may have been used again for a conversation of this user.
                let present = Set(conversations.map { Array($0.record.id.utf8) })
                let removed = Set(gone.map { Array($0.utf8) }).subtracting(present)
                return ConversationChanges(
                    conversations: conversations,
                    removed: removed.map { String(decoding: $0, as: UTF8.self) }.sorted(),
                    total: try rows.conversations.total(user), token: now, complete: true)
            }
        }
        let beginning = try self.list(of: user, limit: limit, cursor: nil)
        return ConversationChanges(
            conversations: beginning.conversations, removed: [], total: beginning.total,
            token: now, complete: false)
    }

    /// Where all conversations of the list stand.
    func heads(ofList user: String) throws -> ListedHeads {
        var heads: [ID: Head] = [:]
        var readers: [ID: ReaderState] = [:]
        // To SQLite a negative limit is none.
        for place in try rows.conversations.listed(user, behind: nil, limit: -1) {
            guard let log = try rows.conversations.log(number: place.cid),
                let reader = try rows.reader(log, user)
            else { continue }
            heads[log.id.id] = log.head
            readers[log.id.id] = reader
        }
        return ListedHeads(heads: heads, readers: readers)
    }

    /// The token, if it is of this list and nothing that was removed since has been forgotten.
    private func confirmed(_ text: String, _ list: ListRow) throws(CacheError) -> ListToken? {
        guard let token = ListToken(text), token.rev >= list.floor else { return nil }
        let isKnown = try rows.conversations.confirms(
            0, rev: token.rev, mark: token.mark, newest: list.rev)
        return isKnown ? token : nil
    }

    /// The conversations of `places` that fit into the bytes of an answer; the first in any case.
    /// - Returns: also how many places they stand for, those that are gone meanwhile among them.
    private func views(
        _ places: some Collection<ListCursor>, _ user: String
    ) throws(CacheError) -> (views: [ConversationView], count: Int) {
        var views: [ConversationView] = []
        var count = 0
        var taken = 0
        for place in places {
            if let log = try rows.conversations.log(number: place.cid) {
                let view = try rows.view(log, for: user)
                taken += view.size
                if taken > bytes, !views.isEmpty { break }
                views.append(view)
            }
            count += 1
        }
        return (views, count)
    }
}
