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
    /// Without the port.
    package var remoteAddress: String
}

/// The decision on a request, by its head.
package enum Admission: Sendable {
    /// - Parameters:
    ///   - bodyLimit: the most bytes of its body; nil for `ServerLimits.httpBody`. Above it the
    ///     answer is 413.
    ///   - isFree: whether no other quota charges it: a stranger's, so that the `Toll` counts it
    ///     like a control frame.
    case accept(bodyLimit: Int?, isFree: Bool)
    /// Answers at once and closes the connection; none of the body is read.
    case refuse(HTTPResponse)

    /// Whether the request shows no key: it is of a stranger.
    var isStranger: Bool {
        if case .accept(_, isFree: false) = self { false } else { true }
    }
}

/// The number of requests in flight, other than upgrades: from the end of the head until the answer
/// is written. Strangers may have half of them, so that they keep nobody out who is known. Shared
/// by the servers that share their connections.
final class RequestCount: Sendable {
    private let all = Atomic<Int>(0)
    private let strangers = Atomic<Int>(0)

    /// - Returns: false if `limit`, or the share of strangers, is reached already.
    func enter(limit: Int, isStranger: Bool) -> Bool {
        guard Self.add(to: all, below: limit) else { return false }
        guard isStranger, !Self.add(to: strangers, below: (limit + 1) / 2) else { return true }
        all.subtract(1, ordering: .relaxed)
        return false
    }

    func leave(isStranger: Bool) {
        all.subtract(1, ordering: .relaxed)
        if isStranger { strangers.subtract(1, ordering: .relaxed) }
    }

    private static func add(to count: borrowing Atomic<Int>, below limit: Int) -> Bool {
        guard count.add(1, ordering: .relaxed).oldValue >= limit else { return true }
        count.subtract(1, ordering: .relaxed)
        return false
    }

    var current: Int { all.load(ordering: .relaxed) }
}
