import Glibc

/// A proxy between a gateway and a client under test: it forwards bytes, until it is set to a
/// fault. The waiting code drives it; nothing here blocks.
final class FaultProxy {
    enum Weather: Equatable {
        /// Forwards everything.
        case clear
        /// Forwards nothing, and closes nothing.
        case stalled
        /// Cuts every new connection at once.
        case refusing
        /// Forwards this many more bytes to the client, then cuts, as in the middle of a frame.
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

    /// The port for the client.
    let port: Int
    /// The fault from now on.
    var weather = Weather.clear
    /// The number of links that it has cut.
    private(set) var cuts = 0
    private let listener: Socket
    private let target: Endpoint
    private var links: [Link] = []
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// The most bytes buffered for one side before reading from the other stops.
    private static let ahead = 256 << 10

    /// - Throws: `BenchError.failure`
    init(_ target: Endpoint) throws(BenchError) {
        self.target = target
        (listener, port) = try Socket.listening()
    }

    /// Cuts all links, with a reset.
    func cut() {
        cuts += links.count
        links = []
    }

    /// The descriptors to poll.
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

    /// Accepts connections and forwards what is there.
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
            // Forwards its last bytes, such as a refusal's reason.
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
