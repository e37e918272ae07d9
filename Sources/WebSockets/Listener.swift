/// Where a server listens and what it serves there. A value of the configuration.
package struct Listener: Sendable, Hashable {
    /// The services of a listener.
    package struct Services: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let webSockets = Services(rawValue: 1)
        package static let http = Services(rawValue: 2)
    }

    /// Its name in requests: `public`, `internal`.
    package var name: String
    /// A literal IPv4 or IPv6 address, the latter with or without brackets.
    package var address: String
    /// 0 lets the system choose: see `Server.port(of:)`.
    package var port: UInt16
    package var tls: TLSFiles?
    package var serves: Services
    /// Whether another process may listen at the same place: then a successor takes over without a
    /// moment in which nobody listens.
    package var isShared: Bool
    /// Refuses a connection that would leave fewer free descriptors than this: they are reserved
    /// for other listeners.
    package var sparedDescriptors: Int
    /// Whether its requests count against `ServerLimits.httpConnections`.
    package var countsRequests: Bool
    /// Whether an HTTP/1.1 request without a `Host` is refused. Health checks may send none.
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

/// Limits on what one peer may cost, each with its reason.
package struct ServerLimits: Sendable, Hashable {
    /// The size of a WebSocket message in bytes; above it the connection is closed with 1009.
    package var inboundFrame = 64 * 1024
    /// The same before `Server.own`: a stranger needs room for a token, and holds no more. A larger
    /// message behind the first one waits with the peer until the connection is somebody's.
    package var firstFrame = 24 * 1024
    /// The size of a request's body in bytes, unless the delegate sets another; above it the answer
    /// is 413.
    package var httpBody = 4 * 1024 * 1024
    /// Requests in flight on the listeners that count them; above it the answer is 503.
    package var httpConnections = 1000
    /// The size of request line and headers in bytes: twice what browsers and proxies use at most,
    /// with room for a token in the query.
    package var head = 16 * 1024
    /// Header fields of a request.
    package var headerFields = 100
    /// From accepting the socket, or from a later request's first byte, to the end of its head, TLS
    /// included.
    package var handshakeTimeout: Duration = .seconds(10)
    /// From the end of a request's head to the end of its body.
    package var bodyTimeout: Duration = .seconds(30)
    /// Between a response and the first byte of the next request.
    package var keepAliveTimeout: Duration = .seconds(60)
    /// How long a response may wait while the peer takes no byte of it.
    package var stallTimeout: Duration = .seconds(30)
    /// From the beginning of a response to its last byte, however the peer takes them.
    package var answerTimeout: Duration = .seconds(120)
    /// From our close frame, or the last byte of a final response, to closing the socket.
    package var closeTimeout: Duration = .seconds(5)

    package init() {}
}
