import Chat
import Engine
import JSON
import Ports
import Wire

/// The store: answers every question of the engine as of one commit.
extension ModelLogs {
    /// - Parameters:
    ///   - commit: the moment of reading, not above the newest commit.
    ///   - told: the commit that the feed has reached. A list's token is never ahead of it: a
    ///     client that leaves before the feed brings a change must get it by the token.
    package func answer(
        _ query: Query, atCommit commit: Int, told: Int
    ) -> Result<Answer, RequestError> {
        do throws(RequestError) {
            var answer = try read(query, commit)
            if case .conversationsSince(var changes) = answer {
                changes.token = String(min(commit, told))
                answer = .conversationsSince(changes)
            }
            return .success(answer)
        } catch {
            return .failure(error)
        }
    }

    private func read(_ query: Query, _ commit: Int) throws(RequestError) -> Answer {
        switch query {
        case .load(let id):
            let (log, rev) = try moment(id, commit)
            return .loaded(log.load(asOf: rev))
        case .page(let id, let request):
            let (log, rev) = try moment(id, commit)
            return .page(try log.page(request, asOf: rev))
        case .catchUp(let id, let have, let limit, let bytes):
            let (log, rev) = try moment(id, commit)
            return .catchUp(log.catchUp(have, limit: limit, bytes: bytes, asOf: rev))
        case .view(let id, let user):
            return .view(view(try moment(id, commit).log, user, atCommit: commit))
        case .ids(let id, let places):
            let (log, rev) = try moment(id, commit)
            return .ids(log.ids(places, asOf: rev))
        case .conversations(let user, let limit, let cursor, _):
            return .conversations(try list(of: user, limit: limit, cursor: cursor, commit))
        case .conversationsSince(let user, let token, let limit, _):
            return .conversationsSince(changes(of: user, since: token, limit: limit, commit))
        case .participants(let id, let request):
            let (log, rev) = try moment(id, commit)
            return .participants(log.participants(request, asOf: rev, atCommit: commit))
        case .listed(let user):
            return .listed(heads(ofList: user, atCommit: commit))
        case .confirm(let id, let head):
            let (log, rev) = try moment(id, commit)
            return .confirmation(head.rev <= rev && log.has(head))
        case .place:
            preconditionFailure("a question that only a cache of another origin is asked")
        }
    }

    private func moment(_ id: String, _ commit: Int) throws(RequestError) -> (
        log: ModelLog, rev: Int
    ) {
        guard let log = log(id, atCommit: commit) else { throw .noConversation }
        return (log, log.rev(atCommit: commit))
    }

    func view(_ log: ModelLog, _ user: String, atCommit commit: Int) -> ConversationView {
        let rev = log.rev(atCommit: commit)
        return ConversationView(
            record: log.record(asOf: rev), lastMessage: log.last(asOf: rev),
            head: log.head(asOf: rev), reader: log.reader(user, atCommit: commit))
    }

    // MARK: - Lists

    /// The user's conversations after the commit, by id.
    package func list(of user: String, atCommit commit: Int? = nil) -> [ConversationView] {
        let commit = commit ?? self.commit
        return
            conversations
            .compactMap { log($0, atCommit: commit) }
            .map { view($0, user, atCommit: commit) }
            .filter { $0.reader != nil }
    }

    func list(
        of user: String, limit: Int, cursor: String?, _ commit: Int
    ) throws(RequestError) -> ConversationList {
        let all = latestFirst(list(of: user, atCommit: commit))
        let behind = cursor.flatMap { ActivityCursor($0) }
        guard cursor == nil || behind != nil else {
            throw RequestError(.cursorInvalid, "cursor: no cursor")
        }
        let rest = behind.map { cursor in all.filter { cursor.stands(before: $0.cursor) } } ?? all
        let listed = rest.prefix(limit)
        return ConversationList(
            conversations: listed.map(\.view),
            next: listed.count < rest.count ? listed.last?.cursor.text : nil,
            total: all.count, unread: UnreadTotal(all.compactMap(\.view.reader)))
    }

    private func latestFirst(
        _ views: [ConversationView]
    ) -> [(view: ConversationView, cursor: ActivityCursor)] {
        views.map { ($0, cursor(of: $0)) }.sorted { $0.cursor.stands(before: $1.cursor) }
    }

    /// The conversation's place in lists, as it was shown.
    package func cursor(of view: ConversationView) -> ActivityCursor {
        let activity = logs(view.record.id, having: view.head).last?.activity(asOf: view.head.rev)
        return ActivityCursor(activity: activity ?? 0, id: view.record.id)
    }

    func changes(
        of user: String, since token: String?, limit: Int, _ commit: Int
    ) -> ConversationChanges {
        let views = list(of: user, atCommit: commit)
        // A token of a later moment than this answer's is unknown at this moment. One of an old
        // primary is unknown everywhere.
        guard let since = token.flatMap({ Int($0) }), since <= commit, !isOld else {
            return ConversationChanges(
                conversations: Array(views.prefix(limit)), removed: [], total: views.count,
                token: isOld ? "old" : String(commit), complete: false,
                unread: UnreadTotal(views.compactMap(\.reader)))
        }
        let before = list(of: user, atCommit: since)
        let present = Set(views.map(\.record.id))
        // Also those that came after the token and went again: a client that watched meanwhile has
        // them.
        let removed = conversations.filter { id in
            !present.contains(id)
                && all[id]?.contains { $0.had(user, betweenCommits: since...commit) } ?? false
        }
        return ConversationChanges(
            conversations: views.filter { !before.contains($0) }, removed: removed,
            total: views.count, token: String(commit), complete: true,
            unread: UnreadTotal(views.compactMap(\.reader)))
    }

    /// The changes since a token with a position in the log of departures.
    func changes(
        of user: String, sincePlace text: String?, limit: Int
    ) -> ConversationChanges {
        let views = list(of: user)
        let place = place(of: user)
        let listed = heads(ofList: user)
        func changes(
            _ shown: [ConversationView], removed: [String] = [], complete: Bool
        ) -> ConversationChanges {
            ConversationChanges(
                conversations: shown, removed: removed, total: views.count,
                token: ListPlaceToken(
                    place: place.seq, mark: place.mark,
                    digest: digest(views, ListDigest(for: views.count))
                ).text, complete: complete, unread: UnreadTotal(views.compactMap(\.reader)),
                heads: listed.heads)
        }
        guard let token = text.flatMap({ ListPlaceToken($0) }), let since = token.place,
            since <= place.seq, token.mark == place.mark
        else { return changes(Array(views.prefix(limit)), complete: false) }
        let present = Set(views.map(\.record.id))
        let removed = conversations.filter { id in
            !present.contains(id)
                && all[id]?.contains { $0.had(user, betweenCommits: since...commit) } ?? false
        }
        let now = digest(views, ListDigest(like: token.digest))
        return changes(
            views.filter { now.differs(from: token.digest, at: $0.record.id) }, removed: removed,
            complete: true)
    }

    private func digest(_ views: [ConversationView], _ empty: ListDigest) -> ListDigest {
        views.reduce(into: empty) {
            $0.add($1.record.id, $1.head, lastRead: $1.reader?.lastReadSeq ?? 0)
        }
    }

    /// The newest commit that removed the user or ended any log: not before the last departure.
    private func place(of user: String) -> ListPlace {
        let seqs = conversations.flatMap { all[$0] ?? [] }.compactMap { log in
            [log.ended, log.removal(of: user).map { log.changes[$0 - 1].commit }]
                .compactMap(\.self).max()
        }
        return ListPlace(seq: seqs.max() ?? 0, mark: isOld ? "0d" : "00")
    }

    func heads(ofList user: String, atCommit commit: Int? = nil) -> ListedHeads {
        let views = list(of: user, atCommit: commit)
        return ListedHeads(
            heads: Dictionary(
                views.map { ($0.record.id.id, $0.head) }, uniquingKeysWith: { $1 }),
            readers: Dictionary(
                views.compactMap { view in view.reader.map { (view.record.id.id, $0) } },
                uniquingKeysWith: { $1 }),
            activity: Dictionary(
                views.map { ($0.record.id.id, cursor(of: $0).activity) },
                uniquingKeysWith: { $1 }), place: place(of: user))
    }
}
