import Foundation
import Glibc
import TestSupport

/// Takes connections on a free port of the loopback, each on a thread of its own. The threads hold
/// what they serve, so it ends when it is told to; none of its sockets goes on in a child process.
final class Listener: Sendable {
    private static let stream = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)

    let port: Int
    private let descriptor: Int32

    /// - Parameter serve: called with a connection, which is closed when it returns.
    init(_ serve: @escaping @Sendable (Int32) -> Void) throws {
        port = try Port.free()
        descriptor = socket(AF_INET, Self.stream, 0)
        // Its connections take it over: the next server of this port need not wait for their ends.
        var yes: Int32 = 1
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        let bound = Self.withAddress(port) { [descriptor] in bind(descriptor, $0, $1) }
        guard bound == 0, listen(descriptor, 64) == 0 else { throw TestFailure("can't listen") }
        Thread.detachNewThread { [descriptor] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0 else { break }
                _ = fcntl(client, F_SETFD, FD_CLOEXEC)
                Thread.detachNewThread {
                    serve(client)
                    Glibc.close(client)
                }
            }
            Glibc.close(descriptor)
        }
    }

    /// Takes nobody more.
    func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// A connection to a port of the loopback, nil where nobody listens.
    static func connect(_ port: Int) -> Int32? {
        let descriptor = socket(AF_INET, stream, 0)
        if withAddress(port, { Glibc.connect(descriptor, $0, $1) }) == 0 { return descriptor }
        Glibc.close(descriptor)
        return nil
    }

    private static func withAddress(
        _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

/// Says to everybody who connects that it is Redis of some version.
final class OldServer {
    private let listener: Listener

    var port: Int { listener.port }

    init(version: String) throws {
        let text = "redis_version:\(version)\r\n"
        let reply = Array("$\(text.utf8.count)\r\n\(text)\r\n".utf8)
        listener = try Listener { client in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while recv(client, &buffer, buffer.count, 0) > 0 {
                _ = send(client, reply, reply.count, Int32(MSG_NOSIGNAL))
            }
        }
    }

    deinit { listener.close() }
}
