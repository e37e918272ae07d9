import CWebSockets
import Glibc

/// One listening socket. Accepts waiting connections and hands them over; owned by the server, on
/// the loop thread. Opens the socket itself, because libwebsockets reports neither why a port could
/// not be bound nor which one the system chose.
final class Acceptor {
    /// How long one turn accepts: a whole backlog at once would make all connections wait. While
    /// there is little else to do the turns are short, and most of the time goes to accepting.
    private static let patience = Duration.microseconds(500)
    /// The kernel caps it (net.core.somaxconn).
    private static let backlog: Int32 = 4096

    let listener: Listener
    /// The port in use, even if the configuration says 0.
    let port: UInt16
    private let descriptor: Int32
    private var watcher: ReadWatcher?
    private var accepted: ((Int32) -> Void)?
    /// Connections that were closed at once because no descriptors were left.
    private(set) var refused = 0
    /// The lowest descriptor number that is refused; the kernel always assigns the lowest free one.
    private lazy var ceiling: Int32 = {
        let limit = ProcessSettings.descriptors
        return Int32(clamping: limit - min(listener.sparedDescriptors, limit / 4))
    }()
    /// Open only so that it can be closed: with no descriptor left, a waiting connection can be
    /// neither accepted nor refused, and the loop would spin on it.
    private var reserve: Int32

    /// - Throws: `WebSocketError` `address` or `listen`.
    init(_ listener: Listener) throws(WebSocketError) {
        self.listener = listener
        var address = try SocketAddress(literal: listener.address, port: listener.port)
        descriptor = try Self.bind(to: &address, listener)
        port = SocketAddress(of: descriptor, peer: false)?.port ?? listener.port
        reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
    }

    deinit {
        stop()
        close(descriptor)
        if reserve >= 0 { close(reserve) }
    }

    /// - Parameter accepted: gets the descriptor of a connected socket, and owns it.
    func start(on loop: ServiceLoop, accepted: @escaping (Int32) -> Void) {
        self.accepted = accepted
        watcher = ReadWatcher(loop: loop, descriptor: descriptor) { [unowned self] in
            accept(to: accepted)
        }
    }

    /// Accepts the waiting connections, then stops.
    func finish() {
        if let accepted { accept(to: accepted, for: .seconds(1)) }
        stop()
    }

    /// Stops accepting.
    func stop() {
        watcher = nil
        accepted = nil
    }

    /// Whether another socket listens on the same port, according to the kernel's tables.
    var hasSuccessor: Bool { ListeningSockets.count(onPort: port) > 1 }

    private func accept(to accepted: (Int32) -> Void, for patience: Duration = patience) {
        let end = ContinuousClock.now + patience
        repeat {
            let socket = gapless_accept(descriptor)
            guard socket >= 0 else {
                switch errno {
                case EMFILE, ENFILE: shed()
                // The peer was gone before its turn; others may wait.
                case ECONNABORTED, EINTR: continue
                default: return
                }
                return
            }
            guard socket < ceiling else {
                refused += 1
                close(socket)
                continue
            }
            // Messages are small, and this program batches them itself.
            var one: Int32 = 1
            setsockopt(
                socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one,
                socklen_t(MemoryLayout.size(ofValue: one)))
            accepted(socket)
        } while ContinuousClock.now < end
    }

    /// Accepts one connection and closes it at once, so that its peer at least notices.
    private func shed() {
        guard reserve >= 0 else { return }
        close(reserve)
        let socket = gapless_accept(descriptor)
        if socket >= 0 {
            refused += 1
            close(socket)
        }
        reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
    }

    /// Binds to the address and releases it; accepts nothing.
    static func tryToBind(_ listener: Listener) throws(WebSocketError) {
        var address = try SocketAddress(literal: listener.address, port: listener.port)
        close(try bind(to: &address, listener, listens: false))
    }

    private static func bind(
        to address: inout SocketAddress, _ listener: Listener, listens: Bool = true
    ) throws(WebSocketError) -> Int32 {
        func failed() -> WebSocketError {
            let reason = errno
            var error = WebSocketError(
                .listen,
                "listening on \(listener.address) port \(listener.port) (\(listener.name)): "
                    + String(cString: strerror(reason)))
            error.isTaken = reason == EADDRINUSE
            return error
        }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, type, 0)
        guard descriptor >= 0 else { throw failed() }
        // A restart need not wait until its predecessor's connections time out.
        var one: Int32 = 1
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout.size(ofValue: one)))
        if listener.isShared {
            setsockopt(
                descriptor, SOL_SOCKET, SO_REUSEPORT, &one,
                socklen_t(MemoryLayout.size(ofValue: one)))
        }
        let isBound = address.withAddress { pointer, length in
            Glibc.bind(descriptor, pointer, length.pointee) == 0
        }
        guard isBound, !listens || Glibc.listen(descriptor, backlog) == 0 else {
            let error = failed()
            close(descriptor)
            throw error
        }
        return descriptor
    }
}
