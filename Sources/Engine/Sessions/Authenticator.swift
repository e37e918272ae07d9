import Chat
import Wire

/// The user of a connection.
package struct Identity: Sendable, Hashable {
    package var user: String
    /// When the token expires; nil without a token.
    package var expires: Timestamp?
    /// When it stops being accepted: `expires` plus the leeway, by the time of day.
    package var deadline: Timestamp?

    package init(user: String, expires: Timestamp? = nil, deadline: Timestamp? = nil) {
        self.user = user
        self.expires = expires
        self.deadline = deadline
    }
}

/// Why a client is not admitted.
package enum Refusal: Error, Sendable, Hashable {
    /// The request lacks what this gateway's mode requires; the connection stays open.
    case request(RequestError)
    /// The token has expired: closes with 3001, and the client may return with a new one.
    case expired
    /// The token is wrong in another way: closes with 3500. The reason never contains the token.
    case refused(String)
}

/// Identifies users by their credentials. A pure function of the configuration and the moment, so
/// that the engine may call it.
package protocol Authenticator: Sendable {
    /// - Parameters:
    ///   - token: from the params, the header or the query, in this order.
    ///   - user: the name given in open mode.
    func identify(token: String?, user: String?, at now: Timestamp) -> Result<Identity, Refusal>
}
