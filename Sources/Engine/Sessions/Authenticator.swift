import Chat
import Wire

/// Who a connection is.
package struct Identity: Sendable, Hashable {
    package var user: String
    /// The end of the token's life; nil where there is no token.
    package var expires: Timestamp?
    /// The moment from which it counts no more: the same, with the leeway. By the time of day.
    package var deadline: Timestamp?

    package init(user: String, expires: Timestamp? = nil, deadline: Timestamp? = nil) {
        self.user = user
        self.expires = expires
        self.deadline = deadline
    }
}

/// Why somebody is not let in.
package enum Refusal: Error, Sendable, Hashable {
    /// The request lacks what this gateway's mode asks for; the connection stays.
    case request(RequestError)
    /// The token's life is over: closes with 3001, come back with a new one.
    case expired
    /// Anything else is wrong with the token: closes with 3500. The reason never holds the token.
    case refused(String)
}

/// Tells who somebody is from what they present. A pure function of the configuration and the
/// moment, so the engine may call it.
package protocol Authenticator: Sendable {
    /// - Parameters:
    ///   - token: from the params, the header or the query, in this order.
    ///   - user: the name given in open mode.
    func identify(token: String?, user: String?, at now: Timestamp) -> Result<Identity, Refusal>
}
