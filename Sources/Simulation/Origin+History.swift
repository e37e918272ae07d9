import Engine
import Ports
import Wire

/// The questions that a gateway asks of an origin elsewhere, answered as of now.
extension Origin {
    /// - Parameter clamp: how many messages or changes an answer holds at most.
    package func answer(
        _ query: HistoryQuery, clamp: Int = .max
    ) -> Result<HistoryAnswer, RequestError> {
        do throws(RequestError) {
            return .success(try read(query, clamp))
        } catch {
            return .failure(error)
        }
    }

    private func read(_ query: HistoryQuery, _ clamp: Int) throws(RequestError) -> HistoryAnswer {
        switch query {
        case .conversation(let id, let reader):
            return .conversation(view(try present(id), reader ?? "", atCommit: commit))
        case .conversations(let user, let limit, let cursor):
            return .conversations(try list(of: user, limit: limit, cursor: cursor, commit))
        case .conversationsSince(let user, let token, let limit):
            var changes = changes(of: user, since: token, limit: limit, commit)
            changes.heads = heads(ofList: user).heads
            return .conversationsSince(changes)
        case .listed(let user): return .listed(heads(ofList: user))
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
            var heads: [String: Head] = [:]
            for id in ids { heads[id] = log(id)?.head }
            return .heads(heads)
        case .participants(let id, let request):
            let log = try present(id)
            return .participants(log.participants(request, asOf: log.rev))
        }
    }

    func heads(ofList user: String, atCommit commit: Int? = nil) -> ListedHeads {
        let views = list(of: user, atCommit: commit)
        return ListedHeads(
            heads: Dictionary(
                views.map { ($0.record.id.id, $0.head) }, uniquingKeysWith: { $1 }),
            readers: Dictionary(
                views.compactMap { view in view.reader.map { (view.record.id.id, $0) } },
                uniquingKeysWith: { $1 }))
    }

    private func present(_ id: String) throws(RequestError) -> ModelLog {
        guard let log = log(id) else { throw .noConversation }
        return log
    }
}
