import CWebSockets
import Glibc

/// A connected socket in the hands of libwebsockets. The only place that holds the library's
/// pointer to it, and so the only one that can call the library about it. Valid from adoption until
/// `Server.socketDestroyed` is called for it; the connection lets it go there.
struct LibrarySocket {
    private let handle: OpaquePointer
    private let descriptor: Int32
    /// What is given to the socket goes out as it is.
    private let isPlain: Bool

    init(_ handle: OpaquePointer, isPlain: Bool) {
        self.handle = handle
        self.isPlain = isPlain
        descriptor = lws_get_socket_fd(handle)
    }

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

    private static let noSignal = Int32(MSG_NOSIGNAL)

    /// What became of the write of one among many, where it did not simply go out.
    enum Outcome {
        /// There was no socket.
        case untried
        /// The library holds a part of it, of this many bytes.
        case partial(Int)
        /// The connection is beyond use.
        case failed
    }

    /// Gives all bytes of the buffer to each of the sockets, of none of which the library holds
    /// anything. Those without TLS get them straight: the library would call the same `send`, by a
    /// way of ten functions and as many lines of memory, none of which is in a cache after the send
    /// before. What the kernel leaves goes by way of the library, as any other write.
    /// - Returns: those whose kernel did not take all, by their places, in their order.
    static func write(
        _ buffer: inout SendBuffer, to sockets: [LibrarySocket?]
    ) -> [(place: Int, outcome: Outcome)] {
        let count = buffer.count
        return buffer.withBytes(from: 0) { bytes in
            var others: [(place: Int, outcome: Outcome)] = []
            for place in sockets.indices {
                guard let socket = sockets[place] else {
                    others.append((place, .untried))
                    continue
                }
                var taken = 0
                if socket.isPlain {
                    taken = max(0, Glibc.send(socket.descriptor, bytes, count, noSignal))
                    if taken == count { continue }
                }
                let left = count - taken
                if lws_write(socket.handle, bytes.map { $0 + taken }, left, LWS_WRITE_HTTP) < 0 {
                    others.append((place, .failed))
                } else if socket.holdsRemainder {
                    others.append((place, .partial(left)))
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
