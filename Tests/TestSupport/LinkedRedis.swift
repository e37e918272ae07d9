import Glibc

/// One Redis, and the way to it of one gateway that can fail; with TLS on both ways, or without.
package final class LinkedRedis {
    package let server: RedisProcess
    package let proxy: TCPProxy
    private let certificates: Certificates?
    private let port: Int

    /// - Parameter word: by which the proxy knows some connections from others.
    /// - Throws: `TestFailure` where it does not come up.
    package init(tls: Bool = false, word: String = "") throws {
        guard tls else {
            certificates = nil
            server = try RedisProcess()
            port = server.port
            proxy = try TCPProxy(to: port, letting: word)
            return
        }
        let certificates = try Certificates()
        self.certificates = certificates
        port = try Port.free()
        server = try RedisProcess(
            certificates.arguments(port: port, try certificates.issue()))
        proxy = try TCPProxy(to: port)
    }

    deinit {
        server.send(SIGCONT)
        proxy.close()
    }

    /// Of a gateway that goes by way of the proxy.
    package var linkedSettings: [String: String] { settings(proxy.port) }

    /// Of a gateway whose link stays.
    package var directSettings: [String: String] { settings(port) }

    private func settings(_ port: Int) -> [String: String] {
        guard let certificates else {
            return ["upstream.redis.url": "redis://127.0.0.1:\(port)/0"]
        }
        return certificates.settings(of: "127.0.0.1:\(port)")
    }
}
