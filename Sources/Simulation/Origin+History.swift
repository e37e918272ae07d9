import Engine
import Ports
import Wire

/// Answers a gateway's questions to an origin elsewhere, as of now.
extension Origin {
    /// - Parameter clamp: the most messages or changes in an answer.
    package func answer(
        _ query: HistoryQuery, clamp: Int = .max
    ) -> Result<HistoryAnswer, RequestError> {
        do throws(RequestError) {
            let answer = try read(query, clamp)
            guard let id = query.conversation else { return .success(answer) }
            return .success(try spoiled(answer, of: id))
        } catch {
            return .failure(error)
        }
    }

    private func read(_ query: HistoryQuery, _ clamp: Int) throws(RequestError) -> HistoryAnswer {
        switch query {
        case .conversation(let id, let reader):
            return .conversation(view(try present(id), reader ?? "", atCommit: commit))
        case .conversations(let user, let limit, let cursor):
            try look(atListOf: user)
            return .conversations(try list(of: user, limit: limit, cursor: cursor, commit))
        case .conversationsSince(let user, let token, let limit):
            try look(atListOf: user)
            return .conversationsSince(changes(of: user, sincePlace: token, limit: limit))
        case .listed(let user):
            try look(atListOf: user)
            return .listed(heads(ofList: user))
        case .message(let id, let message):
            let log = try present(id)
            let seq = stride(from: log.floor, through: log.highest, by: 1)
                .first { log.message($0).id == message }
            guard let seq else { throw .noMessage }
            return .message(log.message(seq))
        case .page(let id, var request):
            let log = try present(id)
            request.limit = min(request.limit, clamp)
            return .page(try log.page(request, asOf: log.rev))
        case .changes(let id, let since, let mark, let limit, let recordAbove):
            return .changes(
                try present(id).changes(
                    since: since, mark: mark, limit: min(limit, clamp), recordAbove: recordAbove))
        case .heads(let ids):
            var heads: [ID: Head] = [:]
            let damaged = damaged(among: ids)
            for id in ids where damaged[id] == nil { heads[id.id] = log(id)?.head }
            return .heads(heads, damaged: damaged.byID)
        case .participants(let id, let request):
            let log = try present(id)
            return .participants(log.participants(request, asOf: log.rev, atCommit: commit))
        }
    }

    /// The changes since a token with a position in the log of departures.
    private func changes(
        of user: String, sincePlace text: String?, limit: Int
    ) -> ConversationChanges {
        let all = list(of: user)
        let place = place(of: user)
        let listed = heads(ofList: user)
        func changes(
            _ views: [ConversationView], removed: [String] = [], complete: Bool
        ) -> ConversationChanges {
            ConversationChanges(
                conversations: views, removed: removed, total: all.count,
                token: ListPlaceToken(
                    place: place.seq, mark: place.mark,
                    digest: digest(all, ListDigest(for: all.count))
                ).text, complete: complete, unread: UnreadTotal(all.compactMap(\.reader)),
                heads: listed.heads)
        }
        guard let token = text.flatMap({ ListPlaceToken($0) }), let since = token.place,
            since <= place.seq, token.mark == place.mark
        else { return changes(Array(all.prefix(limit)), complete: false) }
        let present = Set(all.map(\.record.id))
        let removed = conversations.filter { id in
            !present.contains(id)
                && logs[id]?.contains { $0.had(user, betweenCommits: since...commit) } ?? false
        }
        let now = digest(all, ListDigest(like: token.digest))
        return changes(
            all.filter { now.differs(from: token.digest, at: $0.record.id) }, removed: removed,
            complete: true)
    }

    private func digest(_ views: [ConversationView], _ empty: ListDigest) -> ListDigest {
        views.reduce(into: empty) {
            $0.add($1.record.id, $1.head, lastRead: $1.reader?.lastReadSeq ?? 0)
        }
    }

    /// The newest commit that removed the user or ended any log: not before the last departure.
    private func place(of user: String) -> ListPlace {
        let seqs = conversations.flatMap { logs[$0] ?? [] }.compactMap { log in
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

    private func present(_ id: String) throws(RequestError) -> ModelLog {
        guard let log = log(id) else { throw .noConversation }
        try look(at: id)
        return log
    }
}

extension Dictionary where Key == String {
    /// The same by ids: the names of a world are plain ASCII.
    var byID: [ID: Value] {
        Dictionary<ID, Value>(uniqueKeysWithValues: map { ($0.key.id, $0.value) })
    }
}

extension Dictionary where Key == ID {
    /// The same by the ids' text.
    var byText: [String: Value] {
        Dictionary<String, Value>(uniqueKeysWithValues: map { ($0.key.text, $0.value) })
    }
}
