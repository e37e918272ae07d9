/// The paths of the server API, with the body limit of each. Declared once, for admission; what
/// each does is in `ServerAPI`.
package enum APIRoute: String, Sendable, CaseIterable {
    case conversations = "/v1/conversations"
    case conversation = "/v1/conversations/{id}"
    case messages = "/v1/conversations/{id}/messages"
    case message = "/v1/conversations/{id}/messages/{mid}"
    case reaction = "/v1/conversations/{id}/messages/{mid}/reactions/{user}/{key}"
    case changes = "/v1/conversations/{id}/changes"
    case participants = "/v1/conversations/{id}/participants"
    case participant = "/v1/conversations/{id}/participants/{user}"
    case boundaries = "/v1/conversations/{id}/boundaries"
    case presences = "/v1/conversations/{id}/presence"
    case heads = "/v1/heads"
    case presence = "/v1/presence"
    case gaps = "/v1/gaps"
    case disconnect = "/v1/users/{user}/disconnect"

    /// The route of a path.
    /// - Parameter path: as it came, percent-encoded.
    package init?(path: String) {
        let pieces = path.utf8.dropFirst().split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
        ).map { PercentEncoding.decode(Array($0)) ?? "" }
        let found = Self.allCases.first { $0.matches(pieces) }
        guard let found else { return nil }
        self = found
    }

    private func matches(_ pieces: [String]) -> Bool {
        let own = rawValue.dropFirst().split(separator: "/")
        return own.count == pieces.count
            && zip(own, pieces).allSatisfy { $0.hasPrefix("{") ? !$1.isEmpty : $0 == $1 }
    }

    /// The limit of a body that is not read, or is tiny.
    static let smallBody = 64 << 10

    /// The most bytes of a body from a caller with a key, for messages of at most `message` bytes.
    /// JSON may write one byte as six.
    package func bodyLimit(message: Int) -> Int {
        switch self {
        // The longest array of the largest messages; each has less than a kilobyte around its
        // content.
        case .messages: max(4 << 20, ServerAPI.arrayLimit * (message + 1024))
        case .message: Self.smallBody + 6 * message
        // All participants, with their names and metadata.
        case .conversation: 4 << 20
        case .participant: 4 * Self.smallBody
        // A thousand ids of 255 bytes.
        case .heads: 2 << 20
        case .conversations, .reaction, .changes, .participants, .boundaries, .presences, .presence,
            .gaps, .disconnect:
            Self.smallBody
        }
    }
}
