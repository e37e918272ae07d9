/// An answer over HTTP.
struct HTTPReply: Sendable, Equatable {
    let status: Int
    let body: [UInt8]
}

/// Why there is no reply.
struct TransportError: Error, Sendable, Equatable {
    /// Without the URL, which may hold a password.
    let reason: String
    /// Whether a retry may help: a server that is just starting would explain it.
    let isTransient: Bool
}

/// The server API as a replay uses it: a real one through libcurl, or a test's.
protocol ReplayServer: AnyObject {
    /// Makes one call; `path` is percent-encoded and begins with `/v1`.
    /// - Throws: `TransportError` if there is no answer.
    func call(
        _ method: String, _ path: String, body: [UInt8]?
    ) throws(TransportError) -> HTTPReply
}
