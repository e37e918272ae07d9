import Synchronization

/// The head of a request that is not an upgrade, before any of its body was read.
package struct RequestHead: Sendable {
    /// The name of the listener that received it.
    package var listener: String
    package var method: HTTPMethod
    /// As received, percent-encoded.
    package var path: String
    package var headers: HTTPHeaders
    /// Whether the head announces a body of at least one byte.
    package var hasBody: Bool
}

/// The decision on a request, by its head.
package enum Admission: Sendable {
    /// - Parameters:
    ///   - bodyLimit: the most bytes of its body; nil for `ServerLimits.httpBody`. Above it the
    ///     answer is 413.
    ///   - isFree: whether no other quota charges it, so that the `Toll` counts it like a control
    ///     frame.
    case accept(bodyLimit: Int?, isFree: Bool)
    /// Answers at once and closes the connection; none of the body is read.
    case refuse(HTTPResponse)
}

/// The number of requests in flight, other than upgrades: from the end of the head until the answer
/// is written. Shared by the servers that share their connections.
final class RequestCount: Sendable {
    private let count = Atomic<Int>(0)

    /// - Returns: false if `limit` is reached already.
    func enter(limit: Int) -> Bool {
        guard count.add(1, ordering: .relaxed).oldValue >= limit else { return true }
        leave()
        return false
    }

    func leave() { count.subtract(1, ordering: .relaxed) }

    var current: Int { count.load(ordering: .relaxed) }
}
