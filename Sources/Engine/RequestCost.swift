import Chat
import Wire

/// What a frame costs of `limits.requests_per_second`, known before any work is done for it.
extension RequestFrame {
    /// One for most; a page and a subscription cost one for each hundred messages that they may
    /// bring, and a `have` one for each hundred runs that it names.
    var cost: Int {
        guard case .success(let request) = request else { return 1 }
        switch request {
        case .fetchMessages(_, let page): return hundreds(page.limit)
        case .subscribeMessages(_, let have, let limit):
            return hundreds(limit) + (have?.runs.runs.count ?? 0) / 100
        case .findBoundaries(_, let have): return 1 + (have?.runs.runs.count ?? 0) / 100
        default: return 1
        }
    }

    private func hundreds(_ count: Int) -> Int { max(1, (count + 99) / 100) }
}
