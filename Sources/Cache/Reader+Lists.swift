import JSON
import Ports
import SQLite
import Wire

/// A user's list of conversations: the list itself, and what changed in it.
extension Reader {
    /// - Throws: `RequestError.badRequest`, if the cursor is not one of this gateway's.
    func list(of user: String, limit: Int, cursor: String?) throws -> ConversationList {
        let behind = try cursor.map { text in
            guard let cursor = ListCursor(text) else {
                throw RequestError(
                    .cursorInvalid,
                    "cursor: not a cursor (accepted: the `next` of an earlier answer)")
            }
            return cursor
        }
        // One more than requested, to know whether there are further ones.
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
            // The limit applies only to a list that starts from the beginning.
            if case let listed = try views(changed, user), listed.count == changed.count {
                let conversations = listed.views
                // A removed id may have been reused for another conversation of this user.
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

    /// The heads of all conversations of the list.
    func heads(ofList user: String) throws -> ListedHeads {
        var heads: [ID: Head] = [:]
        var readers: [ID: ReaderState] = [:]
        // SQLite takes a negative limit as none.
        for place in try rows.conversations.listed(user, behind: nil, limit: -1) {
            guard let log = try rows.conversations.log(number: place.cid),
                let reader = try rows.reader(log, user)
            else { continue }
            heads[log.id.id] = log.head
            readers[log.id.id] = reader
        }
        return ListedHeads(heads: heads, readers: readers)
    }

    /// The token, if it is of this list and no removal since then has been purged.
    private func confirmed(_ text: String, _ list: ListRow) throws(CacheError) -> ListToken? {
        guard let token = ListToken(text), token.rev >= list.floor else { return nil }
        let isKnown = try rows.conversations.confirms(
            0, rev: token.rev, mark: token.mark, newest: list.rev)
        return isKnown ? token : nil
    }

    /// The conversations of `places` that fit into the bytes of an answer; at least one.
    /// - Returns: also how many of the places they cover, including conversations that no longer
    ///   exist.
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
