/// Where a WebSocket client connects to, and whom it trusts there.
public struct ClientEndpoint: Sendable, Hashable {
    /// A name that is looked up, or a literal IPv4 or IPv6 address.
    public var host: String
    /// Of the host.
    public var port: UInt16
    /// Path and query, beginning with a slash.
    public var path: String
    /// Whether the connection is encrypted. The certificate must be valid and name the host.
    public var isSecure: Bool
    /// A PEM file of the certificates that are trusted; nil for those of the system.
    public var trustedRoots: String?

    /// An endpoint of these parts.
    public init(
        host: String, port: UInt16, path: String = "/v1/ws", isSecure: Bool = false,
        trustedRoots: String? = nil
    ) {
        self.host = host
        self.port = port
        self.path = path
        self.isSecure = isSecure
        self.trustedRoots = trustedRoots
    }

    /// The endpoint in `ws://host:port/path` or `wss://…`; without a port, 80 and 443.
    public init?(_ url: String, trustedRoots: String? = nil) {
        let schemes: [(String, Bool)] = [("ws://", false), ("wss://", true)]
        guard let (scheme, isSecure) = schemes.first(where: { url.hasPrefix($0.0) }) else {
            return nil
        }
        let rest = url.dropFirst(scheme.count).prefix { $0 != "#" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let target = rest.dropFirst(authority.count)
        var port = isSecure ? "443" : "80"
        var host = String(authority)
        // A colon inside of brackets is part of an IPv6 address.
        if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
            port = String(authority[authority.index(after: colon)...])
            host = String(authority[..<colon])
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        guard !host.isEmpty, !host.contains("@"), let number = UInt16(port), number > 0 else {
            return nil
        }
        self.init(
            host: host, port: number,
            path: target.isEmpty ? "/" : target.hasPrefix("/") ? String(target) : "/" + target,
            isSecure: isSecure, trustedRoots: trustedRoots)
    }

    /// The endpoint as a URL.
    public var url: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return "\(isSecure ? "wss" : "ws")://\(name):\(port)\(path)"
    }
}
