import Chat
import Wire

/// What a frame costs of `limits.requests_per_second`, known before any work is done for it.
extension RequestFrame {
    /// One, as the contract counts; a `have` costs one more for each 250 runs that it names, since
    /// each of them is looked up.
    var cost: Int {
        guard case .success(let request) = request else { return 1 }
        return switch request {
        case .subscribeMessages(_, let have, _), .findBoundaries(_, let have):
            1 + (have?.runs.runs.count ?? 0) / 250
        default: 1
        }
    }
}
