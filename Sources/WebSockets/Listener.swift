/// Where a server listens and what it answers there. A value of the configuration.
package struct Listener: Sendable, Hashable {
    /// What a listener answers to.
    package struct Services: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let webSockets = Services(rawValue: 1)
        package static let http = Services(rawValue: 2)
    }

    /// How requests name it: `public`, `internal`.
    package var name: String
    /// A literal IPv4 or IPv6 address, the latter with or without brackets.
    package var address: String
    /// 0 lets the system choose: `Server.port(of:)` tells.
    package var port: UInt16
    package var tls: TLSFiles?
    package var serves: Services
    /// Another process may listen at the same place: a successor takes over without a moment in
    /// which nobody listens.
    package var isShared: Bool
    /// It takes no connection for which fewer descriptors than this would be left: they are for
    /// whoever must still be answered.
    package var sparedDescriptors: Int
    /// Whether its requests count against `ServerLimits.httpConnections`.
    package var countsRequests: Bool
    /// Whether a request of HTTP/1.1 without a `Host` is refused. A prober may send none.
    package var needsHost: Bool

    package init(
        name: String, address: String, port: UInt16, tls: TLSFiles? = nil,
        serves: Services = [.webSockets, .http], isShared: Bool = false,
        sparedDescriptors: Int = 0, countsRequests: Bool = true,
        needsHost: Bool = true
    ) {
        self.name = name
        self.address = address
        self.port = port
        self.tls = tls
        self.serves = serves
        self.isShared = isShared
        self.sparedDescriptors = sparedDescriptors
        self.countsRequests = countsRequests
        self.needsHost = needsHost
    }
}

/// Paths of a PEM certificate chain and its key.
package struct TLSFiles: Sendable, Hashable {
    package var certificate: String
    package var key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// What one peer may cost. Every field has a limit's reason beside it.
package struct ServerLimits: Sendable, Hashable {
    /// A WebSocket message; beyond it the connection is closed with 1009.
    package var inboundFrame = 64 * 1024
    /// The body of a request, unless the delegate says otherwise; beyond it the answer is 413.
    package var httpBody = 4 * 1024 * 1024
    /// Requests under way at once at the listeners that count them; one more is answered with 503.
    package var httpConnections = 1000
    /// Request line and headers together: twice what browsers and proxies allow themselves, and
    /// room for a token in the query.
    package var head = 16 * 1024
    /// Header fields of a request.
    package var headerFields = 100
    /// From the accepted socket, or a request's first byte, to the end of its head, TLS included.
    package var handshakeTimeout: Duration = .seconds(10)
    /// From the end of a request's head to the end of its body.
    package var bodyTimeout: Duration = .seconds(30)
    /// Between a response and the first byte of the next request.
    package var keepAliveTimeout: Duration = .seconds(60)
    /// How long a response may wait for a peer that takes no byte of it.
    package var stallTimeout: Duration = .seconds(30)
    /// From our close frame, or the last byte of a final response, to the end.
    package var closeTimeout: Duration = .seconds(5)

    package init() {}
}
