import Chat
import Wire

/// What a frame costs of `limits.requests_per_second`, known before any work is done for it.
extension RequestFrame {
    /// One, as the contract counts; a `have` costs one more for each 100 runs that it names: each
    /// is read, looked up and answered, and a thousand cost what ten other requests do.
    var cost: Int {
        guard case .success(let request) = request else { return 1 }
        return switch request {
        case .subscribeMessages(_, let have, _), .findBoundaries(_, let have):
            1 + (have?.runs.runs.count ?? 0) / 100
        default: 1
        }
    }
}
