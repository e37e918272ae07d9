import CWebSockets
import Glibc

/// A connected socket owned by libwebsockets. The only type that holds the library's pointer to it,
/// and so the only one that calls the library about it. Valid from adoption until
/// `Server.socketDestroyed` is called for it; the connection drops it there.
struct LibrarySocket {
    private let handle: OpaquePointer
    private let descriptor: Int32
    /// Whether bytes go to the socket unchanged, without TLS.
    private let isPlain: Bool

    init(_ handle: OpaquePointer, isPlain: Bool) {
        self.handle = handle
        self.isPlain = isPlain
        descriptor = lws_get_socket_fd(handle)
    }

    /// Writes `count` bytes of the buffer, starting at `offset`, to the socket. The library copies
    /// what the kernel does not take at once, and sends it when there is room: see
    /// `holdsRemainder`.
    ///
    /// - Returns: false if the connection is unusable.
    func write(_ buffer: inout SendBuffer, offset: Int, count: Int) -> Bool {
        buffer.withBytes(from: offset) { bytes in
            // In the raw role the kind of write does not matter: the bytes are sent unchanged.
            lws_write(handle, bytes, count, LWS_WRITE_HTTP) >= 0
        }
    }

    private static let noSignal = Int32(MSG_NOSIGNAL)

    /// The result of one write among many, if it was not sent completely.
    enum Outcome {
        /// The library holds the rest of a write of this many bytes.
        case partial(Int)
        /// The connection is unusable.
        case failed
    }

    /// Writes all bytes; the library must not hold a remainder. A socket without TLS is written
    /// directly: the library would make the same `send`, through ten functions and as many cache
    /// lines, all of which the previous send has evicted. What the kernel does not take goes
    /// through the library, as any other write.
    /// - Returns: nil if everything was sent.
    func write(_ bytes: UnsafeMutablePointer<UInt8>?, count: Int) -> Outcome? {
        let sent = isPlain ? max(0, Glibc.send(descriptor, bytes, count, Self.noSignal)) : 0
        let left = count - sent
        guard left > 0 else { return nil }
        guard lws_write(handle, bytes.map { $0 + sent }, left, LWS_WRITE_HTTP) >= 0 else {
            return .failed
        }
        return holdsRemainder ? .partial(left) : nil
    }

    /// Whether the library still holds a part of the last write. The caller must not write then:
    /// the library would copy each write into a short list of segments, which it searches from its
    /// head.
    var holdsRemainder: Bool { lws_partial_buffered(handle) != 0 }

    /// Stops or resumes reading; unread bytes stay with the peer.
    func pauseReading(_ pause: Bool) {
        lws_rx_flow_control(handle, pause ? 0 : 1)
    }

    /// Cancels the library's own timeout after the TLS handshake, which only its own HTTP role
    /// would cancel.
    func cancelTimeout() {
        lws_set_timeout(handle, NO_PENDING_TIMEOUT, 0)
    }

    /// Ends the outgoing direction; reading continues.
    func endWriting() {
        endTLS()
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Closes and frees the socket, with its callback. Must not be called from one of its
    /// callbacks.
    func close() {
        endTLS()
        lws_set_timeout(handle, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_SYNC)
    }

    /// Without a close alert the end of a TLS stream looks like a truncation attack to the peer.
    private func endTLS() {
        if let tls = lws_get_ssl(handle) { SSL_shutdown(tls) }
    }

    /// Bytes that the peer's kernel has acknowledged on this connection.
    var acknowledgedBytes: UInt64 { gapless_tcp_bytes_acked(descriptor) }
}
