import Glibc
import Synchronization

/// A running WebSocket server that forwards every text frame of a publisher to all subscribers: the
/// cost of a fan-out elsewhere, with the same generator and frames of the same size. Its processes
/// are those that hold its listening socket.
struct Peer: Sendable {
    let name: String
    let endpoint: Endpoint
    /// The path at which subscribers connect.
    let path: String
    /// The path at which publishers connect; nil if every subscriber may publish.
    let publisherPath: String?
    let dialect: Dialect

    /// The content of its frames.
    enum Dialect: String, CaseIterable, Sendable {
        /// One message per frame.
        case frames = ""
        /// The protocol of nats-server.
        case nats = "nats+"
        /// The same, with a stream that stores each message in a file before it acknowledges it.
        case jetStream = "jetstream+"
    }

    /// Parses `NAME=URL` or `NAME=URL,URL`, the second one for publishers.
    /// - Throws: `BenchError.usage`
    init(_ text: String) throws(BenchError) {
        let problem = BenchError.usage(
            "--peer: \(text) is not accepted (NAME=ws://HOST:PORT/PATH, with a comma and the same"
                + " for publishers where that differs, NAME=nats+ws://HOST:PORT, or"
                + " NAME=jetstream+ws://HOST:PORT)")
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw problem }
        dialect = Dialect.allCases.last { parts[1].hasPrefix($0.rawValue) } ?? .frames
        let urls = parts[1].dropFirst(dialect.rawValue.count).split(separator: ",")
            .map(String.init)
        guard let first = urls.first, let endpoint = Endpoint(url: first), urls.count <= 2,
            urls.allSatisfy({ Endpoint(url: $0) == endpoint })
        else { throw problem }
        name = parts[0]
        self.endpoint = endpoint
        path = Self.path(of: first)
        publisherPath = urls.count == 2 ? Self.path(of: urls[1]) : nil
    }

    private static func path(of url: String) -> String {
        guard let scheme = url.firstIndex(of: ":") else { return "/" }
        let rest = url[scheme...].dropFirst(3)
        return rest.firstIndex(of: "/").map { String(rest[$0...]) } ?? "/"
    }

    /// The path for the members of a room: `path` if there is only one room, otherwise with the
    /// room's number appended.
    static func path(_ path: String, room: Int, of rooms: Int) -> String {
        guard rooms > 1 else { return path }
        return path + (path.hasSuffix("/") ? "" : "/") + String(room)
    }

    /// The processes that hold the listening socket.
    /// - Throws: `BenchError.failure` if none is visible.
    func processes() throws(BenchError) -> [pid_t] {
        let sockets = Self.listening(on: endpoint.port)
        let found = Files.names(in: "/proc").compactMap { pid_t($0) }.filter { process in
            let files = "/proc/\(process)/fd"
            return Files.names(in: files).contains {
                Files.target(of: "\(files)/\($0)").map(sockets.contains) ?? false
            }
        }
        guard !found.isEmpty else {
            throw .failure("looking for \(name): nobody here listens on port \(endpoint.port)")
        }
        return found
    }

    /// The link targets of the descriptors of sockets that listen on the port.
    private static func listening(on port: Int) -> Set<String> {
        var found: Set<String> = []
        for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
            for line in Files.text(file)?.split(separator: "\n").dropFirst() ?? [] {
                let fields = line.split(separator: " ")
                guard fields.count > 9, fields[3] == "0A",
                    let own = fields[1].split(separator: ":").last, Int(own, radix: 16) == port
                else { continue }
                found.insert("socket:[\(fields[9])]")
            }
        }
        return found
    }
}

/// The size of the gateway's deliveries in the latest trial of a load, so that peers get messages
/// of the same size.
final class DeliverySize: Sendable {
    private let last = Atomic<Int>(0)

    func note(_ bytes: Double) { last.store(Int(bytes.rounded()), ordering: .relaxed) }

    /// - Throws: `BenchError.failure` before the first trial.
    func bytes() throws(BenchError) -> Int {
        let bytes = last.load(ordering: .relaxed)
        guard bytes > 0 else { throw .failure("sizing a peer's messages: nothing was delivered") }
        return bytes
    }
}
