import CWebSockets

/// The callback of libwebsockets for a client's socket. It finds the client in the virtual host and
/// makes one call, with the number under which the socket was connected, so that a late callback
/// finds nothing.
func clientSocketEvent(
    _ socket: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?, _ count: Int
) -> Int32 {
    guard let socket, let opaque = lws_get_opaque_user_data(socket),
        let host = lws_get_vhost(socket), let owner = lws_vhost_user(host)
    else { return 0 }
    let client = Unmanaged<SocketClient>.fromOpaque(owner).takeUnretainedValue()
    let number = UInt(bitPattern: opaque)
    let bytes = UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : count)
    switch reason {
    case LWS_CALLBACK_CLIENT_ESTABLISHED: client.socketOpened(number)
    case LWS_CALLBACK_CLIENT_RECEIVE:
        let isWhole =
            lws_is_final_fragment(socket) != 0 && lws_remaining_packet_payload(socket) == 0
        let isText = lws_frame_is_binary(socket) == 0
        return client.socketReceived(
            number, bytes.bindMemory(to: UInt8.self).span, isWhole: isWhole, isText: isText)
    case LWS_CALLBACK_CLIENT_WRITEABLE: return client.socketWritable(number)
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        let code = bytes.count >= 2 ? UInt16(bytes[0]) << 8 | UInt16(bytes[1]) : nil
        client.socketClosing(number, code: code)
    case LWS_CALLBACK_WSI_DESTROY: client.socketDestroyed(number)
    default: break
    }
    return 0
}
