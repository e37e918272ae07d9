import Chat
import Configuration
import Engine
import Ports
import WebSockets
import Wire

/// Turns socket events into calls of the engine.
extension Driver: ServerDelegate {
    func upgrade(_ request: UpgradeRequest) -> UpgradeDecision {
        entrance.door.decide(request, drainedIn: engine.drainedIn)
    }

    func connected(_ socket: SocketID, _ request: UpgradeRequest) {
        opened(
            socket, bearer: Bearer.token(request.headers, query: request.query),
            from: request.remoteAddress)
    }

    /// A connection was accepted, on this loop or another.
    func opened(_ socket: SocketID, bearer: String?, from address: String) {
        instruments.log.say(
            .connectionOpened, ["connection": "\(socket.rawValue)", "address": address])
        engine.connected(socket.rawValue, bearer: bearer, from: address, at: now())
    }

    func received(_ socket: SocketID, bytes: [UInt8], isBinary: Bool) {
        hear(socket.rawValue, RequestFrame.read(bytes, isBinary: isBinary))
    }

    func hear(_ session: SessionID, _ frame: RequestFrame) {
        gathering.noteRequest(at: instruments.clock.instant)
        engine.received(session, frame, at: now())
        if frame.method == .connect, let user = engine.user(of: session) {
            output.own(session, by: user)
        }
        // Applied before the session's next frame is read.
        for (session, isThrottled) in engine.takeThrottles() {
            output.throttle(session, isThrottled)
        }
    }

    func pong(_ socket: SocketID) {
        engine.ponged(socket.rawValue, at: now())
    }

    func writable(_ socket: SocketID) {
        output.writable(socket, at: now())
    }

    func closed(_ socket: SocketID) {
        instruments.log.say(
            .connectionClosed,
            [
                "connection": "\(socket.rawValue)",
                "user": engine.user(of: socket.rawValue)?.text ?? "",
            ])
        engine.closed(socket.rawValue)
    }

    func admit(_ request: RequestHead) -> Admission { entrance.door.admit(request) }

    func request(_ request: HTTPRequest, _ responder: HTTPResponder) {
        gathering.noteRequest(at: instruments.clock.instant)
        http.answer(request, responder)
    }
}

/// The token that an upgrade carries in its header or its query.
enum Bearer {
    static func token(_ headers: HTTPHeaders, query: String?) -> String? {
        if let token = header(headers["authorization"]) { return token }
        guard let query, let params = try? QueryString(query) else { return nil }
        return params["token"]
    }

    /// The credentials after `Bearer `; the scheme's case is ignored.
    static func header(_ value: String?) -> String? {
        guard let value, value.utf8.count > 7, value.prefix(7).lowercased() == "bearer " else {
            return nil
        }
        return String(value.dropFirst(7).drop { $0 == " " })
    }
}

/// The check of `Origin` and `Host`: pages of this host, and of origins that the operator allows,
/// may open a WebSocket. A client that is no browser sends no Origin. In open mode on loopback the
/// host itself must be a loopback name, or any page could reach it through a name of its own (DNS
/// rebinding).
struct OriginRule {
    private let allowed: [String]
    private let isOpenOnLoopback: Bool

    init(_ configuration: Configuration) {
        allowed = configuration.listen.allowedOrigins.map { $0.lowercased() }
        isOpenOnLoopback =
            configuration.auth.mode == .open && configuration.listen.public.isLoopback
    }

    /// The reason to refuse the request; nil if it may connect.
    func problem(_ headers: HTTPHeaders) -> String? {
        let host = headers["host"]?.lowercased() ?? ""
        if isOpenOnLoopback, !Self.isLoopback(host) {
            return "Host: only a loopback name is accepted in open mode on loopback"
        }
        guard let origin = headers["origin"]?.lowercased() else { return nil }
        if allowed.contains(origin) || allowed.contains("*") { return nil }
        guard let scheme = origin.range(of: "://"), origin[scheme.upperBound...] == host[...] else {
            return "Origin: neither this host nor one of listen.allowed_origins"
        }
        return nil
    }

    private static func isLoopback(_ host: String) -> Bool {
        var name = host[...]
        if name.hasPrefix("[") {
            name = name.dropFirst().prefix { $0 != "]" }
        } else if let colon = name.lastIndex(of: ":") {
            name = name[..<colon]
        }
        if name == "localhost" || name.hasSuffix(".localhost") || name == "::1" { return true }
        // All four numbers: 127.0.0.1.example.org is a name that anybody can point here.
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

extension StringProtocol {
    /// The first occurrence of `needle`.
    fileprivate func range(of needle: String) -> Range<Index>? {
        var at = startIndex
        while at < endIndex {
            if self[at...].hasPrefix(needle) {
                return at..<index(at, offsetBy: needle.count)
            }
            at = index(after: at)
        }
        return nil
    }
}
