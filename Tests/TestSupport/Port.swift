import Glibc
import Synchronization

/// Free ports of the loopback, below the range from which the kernel takes the ports of outgoing
/// connections, so that none of those sits on one meanwhile.
package enum Port {
    // Two test processes at once begin at different places.
    private static let next = Atomic<Int>(Int(getpid()) * 61)

    /// - Throws: `TestFailure` where no port is free.
    package static func free() throws -> Int {
        for _ in 0..<2000 {
            let number = next.add(1, ordering: .relaxed).oldValue
            let port = 20_000 + number % 12_000
            if isFree(port) { return port }
        }
        throw TestFailure("no free port")
    }

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = TCPSocket.loopback(port: port)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
