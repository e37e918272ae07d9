import Configuration
import Crypto
import WebSockets
import Wire

/// Access to the internal listener. Probes and metrics answer everybody. For the rest the `Host` is
/// checked, since a page of another site could reach it through a name of its own (DNS rebinding).
/// The operator's page, `/explain` and `/events` need the password, if there is one; beyond
/// loopback there must be one.
struct InternalRule: Sendable {
    /// The files of the operator's page.
    private static let page: Set = [
        "/", "/operator.css", "/operator.js", "/plots.js", "/tables.js",
    ]
    private static let guarded = page.union(["/explain", "/events"])
    private static let hostsMatter = guarded.union(["/books"])

    /// Whether the path is a file of the operator's page.
    static func isPage(_ path: String) -> Bool { page.contains(path) }

    private let hosts: Set<String>
    private let isLoopback: Bool
    private let password: Passwords?

    init(_ listen: Configuration.Listen, _ credentials: Credentials) {
        hosts = Set(listen.internalHosts.map { $0.lowercased() })
        isLoopback = listen.internal.isLoopback
        password = credentials.internalPassword
    }

    /// The refusal of a request; nil if it may be served.
    func refusal(_ path: String, _ headers: HTTPHeaders) -> HTTPResponse? {
        guard Self.hostsMatter.contains(path) else { return nil }
        guard accepts(host: headers["host"] ?? "") else {
            return .error(
                RequestError(
                    .hostRefused,
                    "Host: only localhost, an address or one of listen.internal_hosts is accepted"))
        }
        guard Self.guarded.contains(path) else { return nil }
        guard let password else {
            return isLoopback ? nil : .error(RequestError(.pathNotFound, "path: not found"))
        }
        guard Self.shows(password, headers["authorization"]) else {
            var response = HTTPResponse.error(
                RequestError(.passwordNeeded, "Authorization: Basic and the password is needed"))
            response.headers.append(.init("WWW-Authenticate", #"Basic realm="gapless""#))
            return response
        }
        return nil
    }

    private func accepts(host: String) -> Bool {
        let host = host.lowercased()
        var name = host[...]
        if host.hasPrefix("[") {
            // An IPv6 address, with or without a port.
            guard let end = host.firstIndex(of: "]"), end > host.startIndex else { return false }
            let rest = host[host.index(after: end)...]
            return IPAddress.isLiteral(String(host[..<end].dropFirst()))
                && (rest.isEmpty || rest.hasPrefix(":"))
        }
        if let colon = host.lastIndex(of: ":") { name = host[..<colon] }
        return name.isEmpty || name == "localhost" || hosts.contains(host)
            || hosts.contains(String(name)) || IPAddress.isLiteral(String(name))
    }

    /// A line of the file is a password for any user name, or a user name, a colon and a password.
    private static func shows(_ password: Passwords, _ header: String?) -> Bool {
        guard let header, header.utf8.count > 6, header.prefix(6).lowercased() == "basic ",
            let pair = Base64URL.decode(basic: header.dropFirst(6).utf8.drop { $0 == 0x20 })
        else { return false }
        guard let colon = pair.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let isPassword = password.contains(pair[(colon + 1)...])
        return password.contains(pair) || isPassword
    }
}
