import CWebSockets
import ClientCore
import SocketLoop

/// The libwebsockets virtual host of one client: its TLS settings and its callback. Owns the C
/// structures to which the library keeps pointers, and must live as long as the context: the loop
/// retains it.
///
/// Unlike the server, a client uses the library's own WebSocket role: it sends only one handshake
/// and masked frames, and the library's leniency concerns only servers.
final class ClientHost {
    private let handle: OpaquePointer
    private let context: OpaquePointer
    private let protocols: UnsafeMutablePointer<lws_protocols>

    /// - Throws: `WebSocketError`: `certificate` if the trusted roots can't be read.
    init(loop: ServiceLoop, client: SocketClient, trustedRoots: String?) throws(WebSocketError) {
        // An empty entry terminates the list.
        protocols = UnsafeMutablePointer<lws_protocols>.allocate(capacity: 2)
        protocols.initialize(repeating: lws_protocols(), count: 2)
        protocols[0].name = Self.cString("gapless.v1")
        protocols[0].callback = clientSocketEvent
        protocols[0].rx_buffer_size = EventLoop.chunk
        protocols[0].tx_packet_size = EventLoop.chunk
        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN
        info.protocols = UnsafePointer(protocols)
        info.user = Unmanaged.passUnretained(client).toOpaque()
        info.options = UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
        info.vhost_name = Self.cString("client")
        context = loop.eventLoop.context
        let created: OpaquePointer?
        if let trustedRoots {
            created = trustedRoots.withCString { path in
                info.client_ssl_ca_filepath = path
                return lws_create_vhost(loop.eventLoop.context, &info)
            }
        } else {
            created = lws_create_vhost(context, &info)
        }
        guard let created else {
            protocols.deallocate()
            throw WebSocketError(
                .certificate,
                "setting TLS up for a client: OpenSSL refused (trusted roots:"
                    + " \(trustedRoots ?? "the system's"))")
        }
        handle = created
    }

    deinit { protocols.deallocate() }

    /// Begins to connect. Resolves the host name synchronously, which may take as long as the
    /// system's resolver does: a client has a loop of its own for it.
    ///
    /// - Parameter number: the number of the socket in the library's callbacks.
    /// - Returns: nil if it failed at once; then the library has already called back.
    func connect(to endpoint: ClientEndpoint, as number: UInt) -> ClientSocket? {
        var info = lws_client_connect_info()
        info.context = context
        info.vhost = handle
        info.port = Int32(endpoint.port)
        info.ssl_connection = endpoint.isSecure ? Int32(LCCSCF_USE_SSL.rawValue) : 0
        info.ietf_version_or_minus_one = -1
        info.opaque_user_data = UnsafeMutableRawPointer(bitPattern: number)
        info.alpn = Self.cString("http/1.1")
        info.protocol = UnsafePointer(protocols[0].name)
        let authority = endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host
        let isDefault = endpoint.port == (endpoint.isSecure ? 443 : 80)
        return endpoint.host.withCString { host in
            endpoint.path.withCString { path in
                (isDefault ? authority : "\(authority):\(endpoint.port)").withCString { name in
                    info.address = host
                    info.path = path
                    // The library checks the certificate against this name, without its port.
                    info.host = name
                    return lws_client_connect_via_info(&info).map { ClientSocket($0) }
                }
            }
        }
    }

    private static func cString(_ text: StaticString) -> UnsafePointer<CChar> {
        UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}

/// A client's socket, owned by libwebsockets. Valid from `connect` until
/// `SocketClient.socketDestroyed` is called for it.
struct ClientSocket {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    /// Requests a call of `SocketClient.socketWritable`, soon.
    func askToWrite() { lws_callback_on_writable(handle) }

    /// Sends one text frame; the library masks it in place.
    ///
    /// - Returns: false if the connection is unusable.
    func write(_ text: inout FrameBuffer) -> Bool {
        let count = text.count
        return text.withBytes { bytes in lws_write(handle, bytes, count, LWS_WRITE_TEXT) >= 0 }
    }

    /// Closes and frees the socket, with its callback. Must not be called from one of its
    /// callbacks.
    func close() { lws_set_timeout(handle, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_SYNC) }
}

/// The text of one frame, with the headroom that libwebsockets requires (`LWS_PRE`).
struct FrameBuffer {
    private static let headroom = Int(gapless_lws_pre)
    private var storage = [UInt8](repeating: 0, count: headroom)

    /// The number of bytes to be sent.
    var count: Int { storage.count - Self.headroom }

    /// Replaces the text.
    mutating func fill(_ text: [UInt8]) {
        storage.removeSubrange(Self.headroom...)
        storage.append(contentsOf: text)
    }

    mutating func withBytes<Result>(
        _ body: (UnsafeMutablePointer<UInt8>?) -> Result
    ) -> Result {
        storage.withUnsafeMutableBufferPointer { bytes in
            body(bytes.baseAddress.map { $0 + Self.headroom })
        }
    }
}
