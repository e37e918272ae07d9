import CWebSockets
import Glibc

/// One way of adopting connections: plain, or with one certificate. Owns the C structures to which
/// a libwebsockets virtual host keeps pointers, and must live as long as the context: the loop
/// retains it. Sockets are accepted elsewhere and passed to `adopt`.
///
/// libwebsockets provides the socket on the loop, TLS, and the sending of remainders. Its own HTTP
/// and WebSocket roles are not used: its parser delivers a decoded and normalized path (it makes
/// "a%2Fb" the same as "a/b", and "a+b" the same as "a b"), ignores Transfer-Encoding, drops
/// unknown methods without an answer, and refuses a handshake with an unknown subprotocol. None of
/// that can be switched off in 4.1. So connections are adopted in the raw role, and
/// `HTTPRequestHead` and `FrameDecoder` implement RFC 9112 and RFC 6455; an idle connection is
/// smaller for it.
final class VirtualHost {
    /// The most bytes of one write; the library would copy longer ones.
    static let chunk = 64 * 1024
    /// The bytes that one turn reads from a socket, into one buffer for all connections. It is
    /// enough for a client's requests for a hundred conversations, and little enough that ten
    /// clients with requests without a pause cause only a few milliseconds of work.
    static let readSize = 16 * 1024

    private let handle: OpaquePointer
    private let protocols: UnsafeMutablePointer<lws_protocols>
    /// The certificate for new handshakes; nil for a plain host.
    private var certificate: Certificate?

    /// - Throws: `WebSocketError` `certificate` if OpenSSL does not accept the files.
    init(loop: ServiceLoop, server: Server, tls: TLSFiles?) throws(WebSocketError) {
        if let tls { certificate = try Certificate(tls) }
        protocols = Self.makeProtocols()
        var info = lws_context_creation_info()
        // "No listening", with and without TLS. The two values must differ: if a client sends a
        // server name (SNI), the library looks its host up by this number.
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

    /// Reloads the files. Open connections keep the certificate of their handshake.
    /// - Returns: the new certificate; nil if it is unchanged.
    /// - Throws: `WebSocketError` `certificate`; then the current one stays.
    func reload(_ tls: TLSFiles) throws(WebSocketError) -> Certificate? {
        let next = try Certificate(tls)
        guard let certificate, !(certificate == next) else { return nil }
        show(next)
        return next
    }

    /// Days until the certificate expires; negative afterwards, nil for a plain host.
    var certificateDaysLeft: Int? { certificate?.daysLeft }

    /// Uses this certificate for new handshakes.
    func show(_ certificate: Certificate) { self.certificate = certificate }

    /// Makes OpenSSL ask this host for the certificate in each handshake. The one that the library
    /// itself loaded can't be replaced: OpenSSL would keep a key of another type beside it, and
    /// choose that.
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

    /// Passes a connected socket to the library, which owns it from then on, even on failure.
    ///
    /// - Returns: nil if the socket was closed already.
    func adopt(_ descriptor: Int32, as id: SocketID) -> LibrarySocket? {
        var description = lws_adopt_desc_t()
        description.vh = handle
        description.type = lws_adoption_type(
            LWS_ADOPT_SOCKET.rawValue | LWS_ADOPT_ALLOW_SSL.rawValue)
        description.fd.sockfd = descriptor
        // The id itself, not a pointer: a late callback finds nothing.
        description.opaque = UnsafeMutableRawPointer(bitPattern: UInt(id.rawValue))
        let isPlain = certificate == nil
        return lws_adopt_descriptor_vhost_via_info(&description).map {
            LibrarySocket($0, isPlain: isPlain)
        }
    }

    private static func makeProtocols() -> UnsafeMutablePointer<lws_protocols> {
        // An empty entry terminates the list.
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
        // The library keeps the pointers to these two strings, but copies the paths.
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
