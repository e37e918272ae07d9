import CWebSockets
import Glibc

/// One listening socket. Accepts what waits and gives it on; owned by the server, on the loop
/// thread. The sockets are made here and not by libwebsockets, because the library says neither
/// why a port could not be had nor which one the system chose.
final class Acceptor {
    /// How long one turn accepts: a whole backlog at once would make everybody else wait. While
    /// there is little else to do the turns are short, and most of the time goes to this.
    private static let patience = Duration.microseconds(500)
    /// The kernel caps it (net.core.somaxconn).
    private static let backlog: Int32 = 4096

    let listener: Listener
    /// The port in use, also where the configuration says 0.
    let port: UInt16
    private let descriptor: Int32
    private var watcher: ReadWatcher?
    private var accepted: ((Int32) -> Void)?
    /// Peers that were closed at once for want of descriptors.
    private(set) var refused = 0
    /// The lowest descriptor that is not for a connection: the kernel gives the lowest there is.
    private lazy var ceiling: Int32 = {
        let limit = ProcessSettings.descriptors
        return Int32(clamping: limit - min(listener.sparedDescriptors, limit / 4))
    }()
    /// Kept open only to be closed: with no descriptor left, a waiting peer can be neither accepted
    /// nor refused, and the loop would spin on it.
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

    /// - Parameter accepted: takes the descriptor of a connected socket, and owns it.
    func start(on loop: ServiceLoop, accepted: @escaping (Int32) -> Void) {
        self.accepted = accepted
        watcher = ReadWatcher(loop: loop, descriptor: descriptor) { [unowned self] in
            accept(to: accepted)
        }
    }

    /// Accepts those who wait, and then nobody any more.
    func finish() {
        if let accepted { accept(to: accepted, for: .seconds(1)) }
        stop()
    }

    /// From now on nobody is accepted.
    func stop() {
        watcher = nil
        accepted = nil
    }

    /// Whether another socket listens at the same port, as far as the kernel's tables tell.
    var hasSuccessor: Bool { ListeningSockets.count(onPort: port) > 1 }

    private func accept(to accepted: (Int32) -> Void, for patience: Duration = patience) {
        let end = ContinuousClock.now + patience
        repeat {
            let socket = gapless_accept(descriptor)
            guard socket >= 0 else {
                switch errno {
                case EMFILE, ENFILE: shed()
                // The peer was gone before its turn; there may be others.
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
            // Messages are small, and are batched here already.
            var one: Int32 = 1
            setsockopt(
                socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one,
                socklen_t(MemoryLayout.size(ofValue: one)))
            accepted(socket)
        } while ContinuousClock.now < end
    }

    /// Accepts one peer and closes it at once, so that it learns what it can.
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

    /// Takes the address, and leaves it again; nobody is accepted meanwhile.
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
        // A restart need not wait for the connections of its predecessor to time out.
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
