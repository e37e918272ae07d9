import Glibc

/// A plain TCP connection to the loopback, non-blocking underneath, with waiting on top. Owned by
/// one test and closed with it.
package final class TCPSocket {
    /// Negative once it was reset.
    package private(set) var descriptor: Int32
    /// The peer has closed its side, or reset the connection.
    package private(set) var isAtEnd = false

    /// - Parameter receiveBuffer: The kernel's receive buffer in bytes, small for a slow reader.
    ///   Its segments are small too: by their size the kernel of the other side decides how much
    ///   it takes ahead, which on the loopback would be some megabytes.
    /// - Throws: `TestFailure` where nobody listens.
    package init(port: Int, receiveBuffer: Int? = nil) throws {
        descriptor = Self.make()
        guard descriptor >= 0 else { throw TestFailure("socket: errno \(errno)") }
        if let receiveBuffer {
            set(SO_RCVBUF, Int32(receiveBuffer))
            set(TCP_MAXSEG, 536, at: Int32(IPPROTO_TCP))
        }
        var address = Self.loopback(port: port)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let outcome = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, length)
            }
        }
        guard outcome == 0 else {
            // `deinit` closes it: all properties have their values.
            throw TestFailure("connect to port \(port): errno \(errno)")
        }
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        set(TCP_NODELAY, 1, at: Int32(IPPROTO_TCP))
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// A socket that no child inherits: it would stay open there when it is closed here.
    static func make() -> Int32 {
        socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }

    static func loopback(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return address
    }

    private func set(_ option: Int32, _ value: Int32, at level: Int32 = SOL_SOCKET) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Ends it now, with a reset instead of a FIN: the peer that fell off the network.
    package func reset() {
        guard descriptor >= 0 else { return }
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
        descriptor = -1
        isAtEnd = true
    }

    /// Says that nothing more will be written, and goes on reading.
    package func finishWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// - Throws: `TestFailure` where the peer is gone or does not take the bytes in time.
    package func write(_ bytes: [UInt8], deadline: Deadline = .standard) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN || errno == EINTR {
                guard wait(for: POLLOUT, deadline) else {
                    throw TestFailure("write: \(sent) of \(bytes.count) bytes taken in time")
                }
            } else {
                throw TestFailure("write: errno \(errno)")
            }
        }
    }

    /// Takes what is there now, without waiting.
    package func readAvailable(limit: Int = 1 << 20) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit, !isAtEnd {
            let piece = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
                let received = recv(descriptor, buffer.baseAddress, buffer.count, 0)
                count = max(0, received)
                isAtEnd = received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR)
            }
            if piece.isEmpty { break }
            bytes += piece
        }
        return bytes
    }

    /// - Returns: Whether there is something to read (an end counts) before the deadline.
    package func waitToRead(_ deadline: Deadline) -> Bool { wait(for: POLLIN, deadline) }

    private func wait(for events: Int32, _ deadline: Deadline) -> Bool {
        if descriptor < 0 { return true }
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        while true {
            let count = poll(&entry, 1, deadline.milliseconds)
            if count > 0 { return true }
            if count == 0 || errno != EINTR { return false }
        }
    }
}
