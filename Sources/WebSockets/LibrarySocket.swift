import CWebSockets
import Glibc

/// A connected socket in the hands of libwebsockets. The only place that holds the library's
/// pointer to it, and so the only one that can call the library about it. Valid from adoption until
/// `Server.socketDestroyed` is called for it; the connection lets it go there.
struct LibrarySocket {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) {
        self.handle = handle
    }

    private var descriptor: Int32 { lws_get_socket_fd(handle) }

    /// Gives `count` bytes of the buffer, beginning at `offset`, to the socket. What the kernel
    /// does not take at once is copied by the library and sent when there is room: see
    /// `holdsRemainder`.
    ///
    /// - Returns: false if the connection is beyond use.
    func write(_ buffer: inout SendBuffer, offset: Int, count: Int) -> Bool {
        buffer.withBytes(from: offset) { bytes in
            // In the raw role the kind of write makes no difference: the bytes go out as they are.
            lws_write(handle, bytes, count, LWS_WRITE_HTTP) >= 0
        }
    }

    /// What became of the write of one among many, where it did not simply go out.
    enum Outcome {
        /// There was no socket.
        case untried
        /// The library holds a part of it.
        case partial
        /// The connection is beyond use.
        case failed
    }

    /// Gives all bytes of the buffer to each of the sockets. Between two sends there is nothing but
    /// the library.
    /// - Returns: those whose kernel did not take all, by their places, in their order.
    static func write(
        _ buffer: inout SendBuffer, to sockets: [LibrarySocket?]
    ) -> [(place: Int, outcome: Outcome)] {
        let count = buffer.count
        return buffer.withBytes(from: 0) { bytes in
            var others: [(place: Int, outcome: Outcome)] = []
            for place in sockets.indices {
                guard let handle = sockets[place]?.handle else {
                    others.append((place, .untried))
                    continue
                }
                if lws_write(handle, bytes, count, LWS_WRITE_HTTP) < 0 {
                    others.append((place, .failed))
                } else if lws_partial_buffered(handle) != 0 {
                    others.append((place, .partial))
                }
            }
            return others
        }
    }

    /// Whether part of the last write waits in the library. Another write would be copied behind
    /// it, into a list of segments that is short and searched from its head: it must not be tried.
    var holdsRemainder: Bool { lws_partial_buffered(handle) != 0 }

    /// Stops or goes on reading; what is not read stays with the peer.
    func pauseReading(_ pause: Bool) {
        lws_rx_flow_control(handle, pause ? 0 : 1)
    }

    /// Takes away the time that the library gives a peer after its TLS handshake, which its own
    /// HTTP role would end.
    func cancelTimeout() {
        lws_set_timeout(handle, NO_PENDING_TIMEOUT, 0)
    }

    /// Says that nothing more will be sent; reading goes on.
    func endWriting() {
        endTLS()
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Closes and frees the socket, with its callback. Not to be called from a callback of its own.
    func close() {
        endTLS()
        lws_set_timeout(handle, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_SYNC)
    }

    /// Without the alert that says so, the end of a TLS stream looks like an attack to the peer.
    private func endTLS() {
        if let tls = lws_get_ssl(handle) { SSL_shutdown(tls) }
    }

    /// Bytes that the peer's kernel has acknowledged since the connection began.
    var acknowledgedBytes: UInt64 { gapless_tcp_bytes_acked(descriptor) }
}
