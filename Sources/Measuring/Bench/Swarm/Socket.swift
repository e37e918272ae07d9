import Glibc

/// A TCP connection to a gateway; it owns its descriptor. Closing sends a reset, so that thousands
/// of connections leave no ports in TIME_WAIT, and so that the gateway sees a client that was cut
/// without a close.
final class Socket {
    /// Options of a connection.
    struct Manner: Sendable {
        /// Whether to continue before the connection is established; writes wait for it.
        var isPatient = false
        /// The kernel's receive buffer in bytes, small for a slow reader. Its segments are small
        /// too: by their size the gateway's kernel decides how much it buffers.
        var receiveBuffer: Int32?
        /// On the loopback, the index of the source address. One has some 28,000 ports.
        var source: UInt32 = 0
    }

    let descriptor: Int32

    /// Connects to a port of this machine, which takes no longer than the call.
    /// - Throws: `BenchError.ended` if nobody listens, `failure` without a descriptor.
    convenience init(port: Int) throws(BenchError) { try self.init(.loopback(port)) }

    /// - Throws: `BenchError.ended` if nobody listens, `failure` without a descriptor.
    init(_ endpoint: Endpoint, _ manner: Manner = Manner()) throws(BenchError) {
        let flags = Self.closeOnExec | (manner.isPatient ? Int32(SOCK_NONBLOCK.rawValue) : 0)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | flags, 0)
        guard descriptor >= 0 else { throw .failure("making a socket: errno \(errno)") }
        if let size = manner.receiveBuffer {
            set(Int(SOL_SOCKET), SO_RCVBUF, size)
            set(IPPROTO_TCP, TCP_MAXSEG, Int32(536))
        }
        if endpoint.isLoopback, manner.source > 0 {
            // Otherwise the kernel would look for a port that is free towards all destinations.
            set(IPPROTO_IP, Self.bindAddressNoPort, Int32(1))
            _ = Self.with(Endpoint.loopback(0).host + manner.source, port: 0) {
                bind(descriptor, $0, $1)
            }
        }
        let outcome = Self.with(endpoint.host, port: endpoint.port) { connect(descriptor, $0, $1) }
        guard outcome == 0 || manner.isPatient && errno == EINPROGRESS else {
            throw .ended("connecting to \(endpoint.authority): errno \(errno)")
        }
        set(IPPROTO_TCP, TCP_NODELAY, Int32(1))
        set(Int(SOL_SOCKET), SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    }

    /// `IP_BIND_ADDRESS_NO_PORT`.
    private static let bindAddressNoPort: Int32 = 24

    private static func with(
        _ host: UInt32, port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = host.bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private init(taking descriptor: Int32) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        stopBlocking()
        set(Int(SOL_SOCKET), SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    }

    /// Listens on a free port of this machine.
    /// - Throws: `BenchError.failure`
    static func listening() throws(BenchError) -> (Socket, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw .failure("making a socket: errno \(errno)") }
        let listener = Socket(taking: descriptor)
        let isBound = with(Endpoint.loopback(0).host, port: 0) { bind(descriptor, $0, $1) } == 0
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let outcome = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                isBound && listen(descriptor, 128) == 0 ? getsockname(descriptor, $0, &length) : -1
            }
        }
        guard outcome == 0 else { throw .failure("listening: errno \(errno)") }
        return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// The next waiting connection; nil if there is none.
    func accepted() -> Socket? {
        let peer = accept(descriptor, nil, nil)
        return peer >= 0 ? Socket(taking: peer) : nil
    }

    private static let closeOnExec = Int32(SOCK_CLOEXEC.rawValue)

    func stopBlocking() { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }

    /// Makes the kernel acknowledge data as soon as it is read. After a request it would delay the
    /// acknowledgement until more data comes, and send it during the server's next send: that would
    /// cost servers with a request protocol, but not those that only send.
    func becomeListener() { set(IPPROTO_TCP, TCP_QUICKACK, Int32(1)) }

    /// Limits blocking reads to a second; such a read then returns nothing.
    func limitBlocking() {
        set(Int(SOL_SOCKET), SO_RCVTIMEO, timeval(tv_sec: 1, tv_usec: 0))
    }

    private func set<Value: BitwiseCopyable>(_ level: Int, _ option: Int32, _ value: Value) {
        var value = value
        let size = socklen_t(MemoryLayout<Value>.size)
        setsockopt(descriptor, Int32(level), option, &value, size)
    }

    /// Reads what is there, at most as much as `buffer` holds.
    /// - Returns: the number of bytes; nil if there are none yet.
    /// - Throws: `BenchError.ended` if the peer has closed.
    func read(into buffer: inout [UInt8]) throws(BenchError) -> Int? {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count > 0 { return count }
        if count < 0, errno == EAGAIN || errno == EINTR { return nil }
        throw .ended("the connection is closed (errno \(count < 0 ? errno : 0))")
    }

    /// Writes as much as the kernel takes.
    /// - Returns: the number of bytes.
    /// - Throws: `BenchError.ended` if the peer has closed.
    func write(_ bytes: [UInt8]) throws(BenchError) -> Int {
        let count = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        if count >= 0 { return count }
        if errno == EAGAIN || errno == EINTR { return 0 }
        throw .ended("the connection is closed (errno \(errno))")
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
        address.sin_addr.s_addr = Endpoint.loopback(port).host.bigEndian
        return address
    }
}
