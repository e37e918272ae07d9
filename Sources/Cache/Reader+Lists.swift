import Engine
import Wire

// One user's list of conversations: as it is, and what changed in it.
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
        let listed = found.prefix(limit)
        return ConversationList(
            conversations: try views(listed, user),
            next: found.count > limit ? listed.last?.text : nil,
            total: try rows.conversations.total(user))
    }

    func list(of user: String, since token: String?, limit: Int) throws -> ConversationChanges {
        let list = try rows.conversations.list()
        let now = ListToken(rev: list.rev, mark: list.mark).text
        if let known = try token.flatMap({ try confirmed($0, list) }) {
            let changed = try rows.conversations.changed(user, since: known.rev)
            let gone = try rows.conversations.gone(user, since: known.rev)
            if changed.count + gone.count <= limit {
                let conversations = try views(changed, user)
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

    /// The token, if it is of this list and nothing that was removed since has been forgotten.
    private func confirmed(_ text: String, _ list: ListRow) throws(CacheError) -> ListToken? {
        guard let token = ListToken(text), token.rev >= list.floor else { return nil }
        let isKnown = try rows.conversations.confirms(
            0, rev: token.rev, mark: token.mark, newest: list.rev)
        return isKnown ? token : nil
    }

    private func views(
        _ listed: some Sequence<ListCursor>, _ user: String
    ) throws(CacheError) -> [ConversationView] {
        var views: [ConversationView] = []
        for place in listed {
            if let log = try rows.conversations.log(number: place.cid) {
                views.append(try rows.view(log, for: user))
            }
        }
        return views
    }
}
