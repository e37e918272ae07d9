import Wire

/// The end of a call with a `traceparent`, for the log.
package struct TracedCall: Sendable, Hashable {
    package var trace: String
    package var method: Method
    package var conversation: String?
    package var user: String
    /// Nil if it succeeded.
    package var error: RequestError?

    /// Limit of ends that wait to be logged; further ones are dropped.
    static let limit = 1000
}

extension TracedCall {
    /// - Parameter error: nil if it succeeded.
    init(_ request: Request.Outline, of session: Session, _ error: RequestError?) {
        trace = session.trace
        method = request.method
        conversation = request.conversation
        user = session.user ?? ""
        self.error = error
    }
}
