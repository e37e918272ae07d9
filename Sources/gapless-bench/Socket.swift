import Glibc

/// A TCP connection to a port of this machine; it owns its descriptor. Closing sends a reset, so
/// that thousands of connections leave no ports in TIME_WAIT behind them.
final class Socket {
    let descriptor: Int32

    /// Connects, blocking: on the loopback that takes no longer than the call.
    /// - Throws: `BenchError.failure` where nobody listens or descriptors have run out.
    init(port: Int) throws(BenchError) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Self.closeOnExec, 0)
        guard descriptor >= 0 else { throw .failure("making a socket: errno \(errno)") }
        var address = Self.loopback(port: port)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let outcome = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, length)
            }
        }
        guard outcome == 0 else { throw .failure("connecting to port \(port): errno \(errno)") }
        set(IPPROTO_TCP, TCP_NODELAY, Int32(1))
        set(Int(SOL_SOCKET), SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private static let closeOnExec = Int32(SOCK_CLOEXEC.rawValue)

    func stopBlocking() { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }

    /// Lets no read block for longer than a second; it then has read nothing.
    func limitBlocking() {
        set(Int(SOL_SOCKET), SO_RCVTIMEO, timeval(tv_sec: 1, tv_usec: 0))
    }

    private func set<Value: BitwiseCopyable>(_ level: Int, _ option: Int32, _ value: Value) {
        var value = value
        let size = socklen_t(MemoryLayout<Value>.size)
        setsockopt(descriptor, Int32(level), option, &value, size)
    }

    /// Reads what is there, at most as much as `buffer` holds.
    /// - Returns: the number of bytes; nil where nothing is there yet.
    /// - Throws: `BenchError.failure` where the peer has closed.
    func read(into buffer: inout [UInt8]) throws(BenchError) -> Int? {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count > 0 { return count }
        if count < 0, errno == EAGAIN || errno == EINTR { return nil }
        throw .failure(
            "reading from the gateway: the connection is closed (\(count < 0 ? errno : 0))")
    }

    /// Writes as much as the kernel takes.
    /// - Returns: the number of bytes.
    /// - Throws: `BenchError.failure` where the peer has closed.
    func write(_ bytes: [UInt8]) throws(BenchError) -> Int {
        let count = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        if count >= 0 { return count }
        if errno == EAGAIN || errno == EINTR { return 0 }
        throw .failure("writing to the gateway: the connection is closed (\(errno))")
    }

    /// A port that was free a moment ago.
    /// - Throws: `BenchError.failure`
    static func freePort() throws(BenchError) -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | closeOnExec, 0)
        defer { close(descriptor) }
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let outcome = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
            }
        }
        guard outcome == 0 else { throw .failure("looking for a free port: errno \(errno)") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    private static func loopback(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
