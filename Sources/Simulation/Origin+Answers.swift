import Chat
import Engine
import JSON
import Ports
import Wire

/// The store: answers every question of the engine as of one commit.
extension Origin {
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
        case .place, .confirm:
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
        guard cursor == nil || behind != nil else { throw .badRequest("cursor: no cursor") }
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
        let all = list(of: user, atCommit: commit)
        // A token of a later moment than this answer's is unknown at this moment. One of an old
        // primary is unknown everywhere.
        guard let since = token.flatMap({ Int($0) }), since <= commit, !isOld else {
            return ConversationChanges(
                conversations: Array(all.prefix(limit)), removed: [], total: all.count,
                token: isOld ? "old" : String(commit), complete: false,
                unread: UnreadTotal(all.compactMap(\.reader)))
        }
        let before = list(of: user, atCommit: since)
        let present = Set(all.map(\.record.id))
        // Also those that came after the token and went again: a client that watched meanwhile has
        // them.
        let removed = conversations.filter { id in
            !present.contains(id)
                && logs[id]?.contains { $0.had(user, betweenCommits: since...commit) } ?? false
        }
        return ConversationChanges(
            conversations: all.filter { !before.contains($0) }, removed: removed,
            total: all.count, token: String(commit), complete: true,
            unread: UnreadTotal(all.compactMap(\.reader)))
    }
}

extension ModelLog {
    /// The time of the newest message sent, or of the newest change of the record.
    package func activity(asOf rev: Int) -> Int64 {
        let changed = record(asOf: rev).updatedAt
        let sent = stride(from: 1, through: highest(asOf: rev), by: 1)
            .map { message($0, asOf: rev).createdAt }
        return max(changed, sent.max() ?? changed).milliseconds
    }

    /// Whether the user took part at any time between the two commits.
    func had(_ user: String, betweenCommits commits: ClosedRange<Int>) -> Bool {
        if let ended, ended <= commits.lowerBound { return false }
        let first = max(rev(atCommit: commits.lowerBound), 1)
        return stride(from: first, through: rev(atCommit: commits.upperBound), by: 1).contains {
            record(asOf: $0).participants.contains(user)
        }
    }

    func participants(
        _ request: ParticipantsRequest, asOf rev: Int, atCommit commit: Int
    ) -> ParticipantList {
        let all = record(asOf: rev).participants
        let ordered = request.order == .asc ? all : all.reversed()
        let chosen =
            request.limit <= 0
            ? ordered[...] : ordered.dropFirst(request.offset).prefix(request.limit)
        return ParticipantList(
            participants: chosen.map { user in
                var json = JSONWriter()
                json.beginObject()
                json.member("id", string: user)
                let reader = reader(user, asOf: rev, atCommit: commit)
                json.member("lastReadSeq", int: reader?.lastReadSeq ?? 0)
                json.endObject()
                return json.bytes
            }, total: all.count)
    }
}
