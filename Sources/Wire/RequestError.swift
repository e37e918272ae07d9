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
    /// Why, for a program to compare. Nil where the gateway named none, or one that this version of
    /// the library does not know.
    public var reason: Reason?
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

    /// An error. Its reason says which code it has, and whether a retry may succeed.
    public init(
        _ reason: Reason, _ message: String, after: Int? = nil, current: RawJSON? = nil
    ) {
        self.init(
            code: reason.code, reason: reason, message: message, retry: reason.retry, after: after,
            current: current)
    }

    /// An error as a gateway said it, perhaps of another version.
    package init(
        code: ErrorCode, reason: Reason?, message: String, retry: Retry, after: Int?,
        current: RawJSON?
    ) {
        self.code = code
        self.reason = reason
        self.message = message
        self.retry = retry
        self.after = after
        self.current = current
    }

    /// A field with a value that is not accepted.
    package static func invalid(_ message: String) -> RequestError {
        RequestError(.fieldInvalid, message)
    }
    /// The same answer for "does not exist" and "is not yours", so that the caller can't tell
    /// which.
    package static let noConversation = RequestError(
        .conversationNotFound, "conversation: not found")
    package static let noMessage = RequestError(
        .messageNotFound, "id: no such message in this conversation")
    /// A part of the conversation's log, under the origin's name for it, is gone or contradicts the
    /// others.
    package static func damaged(_ part: String) -> RequestError {
        var error = RequestError(
            .logDamaged, "conversation: its log is damaged at the origin (\(part))")
        error.damagedPart = part
        return error
    }
    package static let originUnavailable = RequestError(
        .originUnreachable, "the origin can't be reached")
}
