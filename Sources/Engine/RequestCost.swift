import Chat
import Wire

/// What a frame costs of `limits.requests_per_second`, known before any work is done for it.
extension RequestFrame {
    /// One, as the contract counts, and the weight of what it says.
    var cost: Int {
        guard case .success(let request) = request else { return 1 }
        return 1 + request.weight
    }
}

extension Request {
    /// What it costs beyond other requests: a `have` is one more for each 20 runs that it names.
    /// Each is read, looked up and answered; a thousand take what fifty small requests do.
    var weight: Int {
        switch self {
        case .subscribeMessages(_, let have, _), .findBoundaries(_, let have):
            (have?.runs.runs.count ?? 0) / 20
        default: 0
        }
    }
}
