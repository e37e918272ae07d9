import Synchronization

/// The head of a request that is no upgrade, of whose body nothing was read yet.
package struct RequestHead: Sendable {
    /// The name of the listener that it came in by.
    package var listener: String
    package var method: HTTPMethod
    /// As it came, percent-encoded.
    package var path: String
    package var headers: HTTPHeaders
    /// Whether a body of at least a byte is said to follow.
    package var hasBody: Bool
}

/// What becomes of a request whose head is there.
package enum Admission: Sendable {
    /// - Parameters:
    ///   - bodyLimit: how many bytes its body may have, nil for `ServerLimits.httpBody`; above
    ///     that the answer is 413.
    ///   - isFree: whether nobody else charges it, so that it counts beside control frames.
    case accept(bodyLimit: Int?, isFree: Bool)
    /// Answered at once; the connection closes after it, and nothing of the body is read.
    case refuse(HTTPResponse)
}

/// The requests under way, other than upgrades: from the end of their heads until their answers
/// are out. Shared by the servers that share their connections.
final class RequestCount: Sendable {
    private let count = Atomic<Int>(0)

    /// - Returns: false if there are `limit` already.
    func enter(limit: Int) -> Bool {
        guard count.add(1, ordering: .relaxed).oldValue >= limit else { return true }
        leave()
        return false
    }

    func leave() { count.subtract(1, ordering: .relaxed) }

    var current: Int { count.load(ordering: .relaxed) }
}
