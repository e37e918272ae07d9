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
            let answer = try found(query, clamp)
            guard let id = query.conversation else { return .success(answer) }
            return .success(try spoiled(answer, of: id))
        } catch {
            return .failure(error)
        }
    }

    private func found(_ query: HistoryQuery, _ clamp: Int) throws(RequestError) -> HistoryAnswer {
        switch query {
        case .conversation(let id, let reader):
            return .conversation(archive.view(try present(id), reader ?? "", atCommit: commit))
        case .conversations(let user, let limit, let cursor):
            try look(atListOf: user)
            return .conversations(try archive.list(of: user, limit: limit, cursor: cursor, commit))
        case .conversationsSince(let user, let token, let limit):
            try look(atListOf: user)
            return .conversationsSince(archive.changes(of: user, sincePlace: token, limit: limit))
        case .listed(let user):
            try look(atListOf: user)
            return .listed(archive.heads(ofList: user))
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
        case .participants(let id, let request, let reader):
            let log = try present(id)
            guard reader.map({ log.has($0) }) ?? true else { throw .noConversation }
            return .participants(log.participants(request, asOf: log.rev, atCommit: commit))
        case .reactions(let id, let message, let request, let user):
            let log = try present(id, for: user)
            guard let message = log.first(id: message).map({ log.message($0.seq) }) else {
                throw .noMessage
            }
            let entries = log.reactions(to: message.seq).filter {
                (request.key ?? $0.key) == $0.key && $0.rev > request.after
            }
            return .reactions(
                ReactionList(
                    Array(entries.prefix(request.limit + 1)), of: log.shown(of: message), request))
        case .ownReactions(let id, let after, let before, let user):
            let log = try present(id, for: user)
            let places = (max(after + 1, log.floor)..<max(before, after + 1)).prefix {
                $0 <= log.highest
            }
            return .ownReactions(
                [OwnReactions](
                    places.flatMap { seq in
                        log.reactions(to: seq).filter { $0.user == user }.map { (seq, $0.key) }
                    }))
        case .mentions(let id, let after, let limit, let user):
            let log = try present(id, for: user)
            let all = log.mentions(of: user, above: 0, asOf: log.rev)
            return .mentions(
                MentionList(
                    places: all.filter { $0 > after }.prefix(limit).map {
                        MentionList.Place(id: log.message($0).id, seq: $0)
                    }, total: all.count))
        case .provided(let head, let query):
            if let id = query.conversation, let log = log(id), !log.proves(head) { throw .logLost }
            return try found(query, clamp)
        }
    }

    /// The log of a conversation in which the user takes part.
    private func present(_ id: String, for user: String) throws(RequestError) -> ModelLog {
        let log = try present(id)
        guard log.record().participants.contains(user) else { throw .noConversation }
        return log
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
