import Glibc
import TestSupport

/// One Redis, and the way to it of one gateway that can fail.
final class LinkedRedis {
    let server: RedisProcess
    let proxy: TCPProxy

    init() throws {
        server = try RedisProcess()
        proxy = try TCPProxy(to: server.port)
    }

    deinit {
        server.send(SIGCONT)
        proxy.close()
    }

    /// Of a gateway that goes by way of the proxy.
    var linkedSettings: [String: String] {
        ["upstream.redis.url": "redis://127.0.0.1:\(proxy.port)/0"]
    }

    /// Of a gateway whose link stays.
    var directSettings: [String: String] { ["upstream.redis.url": server.url] }
}
