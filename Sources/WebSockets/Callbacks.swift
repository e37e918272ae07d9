import CWebSockets

/// The callback of libwebsockets. It finds the server in the virtual host and the connection by the
/// id from its adoption, makes one call, and never closes anything itself: abandoned connections
/// are closed between turns, when no library function is on the stack.
func socketEvent(
    _ socket: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?, _ count: Int
) -> Int32 {
    switch reason {
    case LWS_CALLBACK_RAW_RX, LWS_CALLBACK_RAW_WRITEABLE, LWS_CALLBACK_WSI_DESTROY,
        LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
        break
    default: return 0
    }
    guard let socket, let host = lws_get_vhost(socket), let owner = lws_vhost_user(host) else {
        return 0
    }
    let server = Unmanaged<Server>.fromOpaque(owner).takeUnretainedValue()
    if reason == LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS {
        // Called while a host is created, without a socket: `user` is its SSL_CTX.
        if let user { server.madeTLSContext(TLSContext(OpaquePointer(user))) }
        return 0
    }
    guard let opaque = lws_get_opaque_user_data(socket) else { return 0 }
    let id = SocketID(rawValue: UInt64(UInt(bitPattern: opaque)))
    switch reason {
    case LWS_CALLBACK_RAW_RX:
        let bytes = UnsafeRawBufferPointer(start: input, count: count)
        server.socketReceived(id, bytes.bindMemory(to: UInt8.self).span)
    case LWS_CALLBACK_RAW_WRITEABLE: server.socketDrained(id)
    default: server.socketDestroyed(id)
    }
    return 0
}
