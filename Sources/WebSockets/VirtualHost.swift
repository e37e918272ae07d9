import CWebSockets
import Glibc

/// One way of taking connections: plain, or with one certificate. Owns the C structures that a
/// libwebsockets virtual host keeps pointers to, and must live as long as the context: the loop
/// holds it. Sockets are accepted elsewhere and given to it by `adopt`.
///
/// libwebsockets brings the socket on the loop, TLS, and the sending of what the kernel did not
/// take. Its own HTTP and WebSocket roles are not used: its parser hands over a path that is
/// already decoded and tidied ("a%2Fb" and "a/b", "a+b" and "a b" are the same then), ignores
/// Transfer-Encoding, drops unknown methods without an answer, and refuses a handshake for a
/// subprotocol that it does not know. None of that can be switched off in 4.1. So connections are
/// adopted in the raw role, and RFC 9112 and RFC 6455 are read by `HTTPRequestHead` and
/// `FrameDecoder`; an idle connection is smaller for it.
final class VirtualHost {
    /// What one write hands to the socket before the library would rather copy it.
    static let chunk = 64 * 1024
    /// Bytes that one turn reads of a socket, into one buffer for all connections. A client's
    /// requests for a hundred conversations come in one turn; of ten clients that ask as fast as
    /// they can, no more than a few milliseconds' work does.
    static let readSize = 16 * 1024

    private let handle: OpaquePointer
    private let protocols: UnsafeMutablePointer<lws_protocols>
    /// What handshakes are shown from now on; nil for a plain host.
    private var certificate: Certificate?

    /// - Throws: `WebSocketError` `certificate` if OpenSSL does not take the files.
    init(loop: ServiceLoop, server: Server, tls: TLSFiles?) throws(WebSocketError) {
        if let tls { certificate = try Certificate(tls) }
        protocols = Self.makeProtocols()
        var info = lws_context_creation_info()
        // "No listening" for a host that has TLS and one that has not. They must differ: a host is
        // looked up again by this number when a client names it (SNI).
        info.port = tls == nil ? CONTEXT_PORT_NO_LISTEN : CONTEXT_PORT_NO_LISTEN_SERVER
        info.protocols = UnsafePointer(protocols)
        info.user = Unmanaged.passUnretained(server).toOpaque()
        if tls != nil { info.options = UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT) }
        let created = Self.create(on: loop.eventLoop.context, &info, tls)
        guard let created else {
            protocols.deallocate()
            throw WebSocketError(
                tls == nil ? .loop : .certificate,
                tls.map {
                    "loading TLS from \($0.certificate) and \($0.key): OpenSSL refused them"
                        + " (a PEM chain and the key that belongs to it)"
                } ?? "creating a virtual host: refused by libwebsockets")
        }
        handle = created
        if let context = server.takeTLSContext() { presentCertificate(in: context.handle) }
    }

    /// Reads the files again. Who is connected keeps the certificate that it was shown.
    /// - Returns: the new one, nil if it is the same.
    /// - Throws: `WebSocketError` `certificate`; the one in use stays then.
    func reload(_ tls: TLSFiles) throws(WebSocketError) -> Certificate? {
        let next = try Certificate(tls)
        guard let certificate, !(certificate == next) else { return nil }
        show(next)
        return next
    }

    /// From now on handshakes are shown this one.
    /// Days until what is shown expires.
    var certificateDaysLeft: Int? { certificate?.daysLeft }

    func show(_ certificate: Certificate) { self.certificate = certificate }

    /// Has OpenSSL ask this host for the certificate of each handshake. What the library itself
    /// loaded can't be replaced: a key of another type would be kept beside it, and chosen.
    private func presentCertificate(in context: OpaquePointer) {
        let present: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = {
            guard let handshake = $0, let host = $1 else { return 0 }
            let certificate = Unmanaged<VirtualHost>.fromOpaque(host).takeUnretainedValue()
                .certificate
            return certificate?.present(to: handshake) == true ? 1 : 0
        }
        SSL_CTX_set_cert_cb(context, present, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        protocols.deallocate()
    }

    /// Gives a connected socket to the library, which owns it from then on, also if it fails.
    ///
    /// - Returns: nil if the socket is already closed again.
    func adopt(_ descriptor: Int32, as id: SocketID) -> LibrarySocket? {
        var description = lws_adopt_desc_t()
        description.vh = handle
        description.type = lws_adoption_type(
            LWS_ADOPT_SOCKET.rawValue | LWS_ADOPT_ALLOW_SSL.rawValue)
        description.fd.sockfd = descriptor
        // The id itself, not a pointer: a callback that comes too late finds nothing.
        description.opaque = UnsafeMutableRawPointer(bitPattern: UInt(id.rawValue))
        let isPlain = certificate == nil
        return lws_adopt_descriptor_vhost_via_info(&description).map {
            LibrarySocket($0, isPlain: isPlain)
        }
    }

    private static func makeProtocols() -> UnsafeMutablePointer<lws_protocols> {
        // The list ends with an empty entry.
        let protocols = UnsafeMutablePointer<lws_protocols>.allocate(capacity: 2)
        protocols.initialize(repeating: lws_protocols(), count: 2)
        protocols[0].name = cString("gapless")
        protocols[0].callback = socketEvent
        protocols[0].rx_buffer_size = readSize
        protocols[0].tx_packet_size = chunk
        return protocols
    }

    private static func create(
        on context: OpaquePointer, _ info: inout lws_context_creation_info, _ tls: TLSFiles?
    ) -> OpaquePointer? {
        // The library keeps the pointers to these two, and copies the paths.
        info.vhost_name = cString(tls == nil ? "plain" : "tls")
        info.alpn = cString("http/1.1")
        guard let tls else { return lws_create_vhost(context, &info) }
        return tls.certificate.withCString { certificate in
            tls.key.withCString { key in
                info.ssl_cert_filepath = certificate
                info.ssl_private_key_filepath = key
                return lws_create_vhost(context, &info)
            }
        }
    }

    private static func cString(_ text: StaticString) -> UnsafePointer<CChar> {
        UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
