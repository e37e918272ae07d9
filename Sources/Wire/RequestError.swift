import JSON

/// The error codes of `protocol.md` 2.
public enum ErrorCode: String, Sendable, Hashable, CaseIterable {
    case badRequest = "bad_request"
    case unknownMethod = "unknown_method"
    case unauthorized
    case forbidden
    case notFound = "not_found"
    case conflict
    case tooLarge = "too_large"
    case rateLimited = "rate_limited"
    case originUnavailable = "origin_unavailable"
    case `internal`

    /// The HTTP status of this error.
    package var status: Int {
        switch self {
        case .badRequest: 400
        case .unauthorized: 401
        case .forbidden: 403
        case .notFound, .unknownMethod: 404
        case .conflict: 409
        case .tooLarge: 413
        case .rateLimited: 429
        case .originUnavailable: 503
        case .internal: 500
        }
    }
}

/// Whether the same request may succeed when it is made again.
public enum Retry: String, Sendable, Hashable {
    case never, later, now
}

/// The error reply to a request. The message names the field, the value's kind and what is
/// accepted; it never carries a user's text or a token.
public struct RequestError: Error, Sendable, Hashable {
    /// What went wrong.
    public var code: ErrorCode
    /// The error in words, for a person.
    public var message: String
    /// Whether the same request may succeed when it is made again.
    public var retry: Retry
    /// Milliseconds until a retry makes sense, if known.
    public var after: Int?
    /// With a `conflict` of a conditional change: the value as it is, `{"message": {…}}` or
    /// `{"conversation": {…}}`.
    public var current: RawJSON?
    /// The damaged part of the conversation's log at the origin: it is gone, or contradicts the
    /// others.
    package var damagedPart: String?

    /// An error.
    public init(
        _ code: ErrorCode, _ message: String, retry: Retry = .never, after: Int? = nil,
        current: RawJSON? = nil
    ) {
        self.code = code
        self.message = message
        self.retry = retry
        self.after = after
        self.current = current
    }

    package static func badRequest(_ message: String) -> RequestError {
        RequestError(.badRequest, message)
    }
    /// The same answer for "does not exist" and "is not yours", so that the caller can't tell
    /// which.
    package static let noConversation = RequestError(.notFound, "conversation: not found")
    package static let noMessage = RequestError(
        .notFound, "id: no such message in this conversation")
    /// A part of the conversation's log, under the origin's name for it, is gone or contradicts the
    /// others.
    package static func damaged(_ part: String) -> RequestError {
        var error = RequestError(
            .originUnavailable, "conversation: its log is damaged at the origin (\(part))",
            retry: .later)
        error.damagedPart = part
        return error
    }
    package static let originUnavailable = RequestError(
        .originUnavailable, "the origin can't be reached", retry: .later)
}
