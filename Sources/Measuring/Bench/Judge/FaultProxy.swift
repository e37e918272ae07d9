import Glibc

/// What stands between a gateway and a client that is judged: it hands on bytes, until it is told
/// to do otherwise. Served by whoever waits; nothing here blocks.
final class FaultProxy {
    enum Weather: Equatable {
        /// Everything is handed on.
        case clear
        /// Nothing is, and nobody is told.
        case stalled
        /// Whoever connects is cut off at once.
        case refusing
        /// So many more bytes reach the client, then it is cut off, as in the middle of a frame.
        case cutting(Int)
    }

    private final class Link {
        let client: Socket
        let gateway: Socket
        var toClient: [UInt8] = []
        var toGateway: [UInt8] = []

        init(_ client: Socket, _ gateway: Socket) {
            self.client = client
            self.gateway = gateway
        }
    }

    /// Where the client connects to.
    let port: Int
    /// What happens to what passes from now on.
    var weather = Weather.clear
    /// How many links were cut by it.
    private(set) var cuts = 0
    private let listener: Socket
    private let target: Endpoint
    private var links: [Link] = []
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// So much may wait for one side before the other is read on.
    private static let ahead = 256 << 10

    /// - Throws: `BenchError.failure`
    init(_ target: Endpoint) throws(BenchError) {
        self.target = target
        (listener, port) = try Socket.listening()
    }

    /// Cuts everybody off, with a reset.
    func cut() {
        cuts += links.count
        links = []
    }

    /// What is to be waited for.
    var interests: [pollfd] {
        var all = [pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)]
        guard weather != .stalled else { return all }
        for link in links {
            all.append(Self.interest(link.client, reads: link.toGateway, writes: link.toClient))
            all.append(Self.interest(link.gateway, reads: link.toClient, writes: link.toGateway))
        }
        return all
    }

    private static func interest(_ socket: Socket, reads: [UInt8], writes: [UInt8]) -> pollfd {
        let events = (reads.count < ahead ? POLLIN : 0) | (writes.isEmpty ? 0 : POLLOUT)
        return pollfd(fd: socket.descriptor, events: Int16(events), revents: 0)
    }

    /// Takes who comes and hands on what is there.
    func serve() {
        while let client = listener.accepted() {
            guard weather != .refusing, let gateway = try? Socket(target) else { continue }
            gateway.stopBlocking()
            links.append(Link(client, gateway))
        }
        guard weather != .stalled else { return }
        for link in links {
            do throws(BenchError) {
                try pass(link)
            } catch {
                links.removeAll { $0 === link }
            }
        }
    }

    private func pass(_ link: Link) throws(BenchError) {
        while link.toGateway.count < Self.ahead, let count = try link.client.read(into: &buffer) {
            link.toGateway += buffer[..<count]
        }
        try Self.flush(&link.toGateway, link.gateway)
        do throws(BenchError) {
            while link.toClient.count < Self.ahead,
                let count = try link.gateway.read(into: &buffer)
            {
                link.toClient += buffer[..<count]
            }
        } catch {
            // Its last words, such as why it refuses.
            try Self.flush(&link.toClient, link.client)
            throw error
        }
        guard case .cutting(let left) = weather else {
            return try Self.flush(&link.toClient, link.client)
        }
        guard link.toClient.count >= left else {
            weather = .cutting(left - link.toClient.count)
            return try Self.flush(&link.toClient, link.client)
        }
        link.toClient.removeSubrange(left...)
        try Self.flush(&link.toClient, link.client)
        cut()
        weather = .refusing
    }

    private static func flush(_ bytes: inout [UInt8], _ socket: Socket) throws(BenchError) {
        while !bytes.isEmpty {
            let count = try socket.write(bytes)
            if count == 0 { return }
            bytes.removeFirst(count)
        }
    }
}
