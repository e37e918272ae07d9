import Synchronization
import Wire

/// The version of the protocol up to which an origin on a server is enabled: since somebody said
/// that no earlier gateway shares it, values may be written that an earlier one would lose. It only
/// rises, so a gateway asks until it knows.
package final class EnabledVersion: Sendable {
    /// The version of this program's own protocol.
    package static let present = "1.2"

    private let known = Atomic(false)

    /// Whether it is known to be enabled.
    var isKnown: Bool { known.load(ordering: .relaxed) }

    /// Notes what the origin says.
    /// - Returns: whether it is enabled.
    func note(_ version: String?) -> Bool {
        guard version == Self.present else { return false }
        known.store(true, ordering: .relaxed)
        return true
    }
}

/// An origin on a server, which gateways of several versions may share.
package protocol EnablingOrigin: Upstream {
    /// Notes on the server that only gateways of this version share it from now on.
    func enable(then: @escaping @Sendable (Result<Void, RequestError>) -> Void)

    /// Why it is offline or can't write; nil if it is well.
    var trouble: UpstreamNotice? { get }
}
