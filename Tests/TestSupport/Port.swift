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
            if isOurs(port), isFree(port) { return port }
        }
        throw TestFailure("no free port")
    }

    /// One file for all test processes of the machine, in which each locks a byte for each port
    /// that it has taken, until it ends. Between the look at a port and the server on it another
    /// process would find it free as well.
    private static let claims = open(
        P_tmpdir + "/gapless-test-ports", O_RDWR | O_CREAT | O_CLOEXEC, 0o666)

    private static func isOurs(_ port: Int) -> Bool {
        var byte = flock()
        byte.l_type = Int16(F_WRLCK)
        byte.l_whence = Int16(SEEK_SET)
        byte.l_start = off_t(port)
        byte.l_len = 1
        // Where another user made the file, what `isFree` says has to do.
        return claims < 0 || fcntl(claims, F_SETLK, &byte) == 0
    }

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = TCPSocket.loopback(port: port)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
