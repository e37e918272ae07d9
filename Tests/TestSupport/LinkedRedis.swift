import Glibc

/// One Redis, and the way to it of one gateway that can fail.
package final class LinkedRedis {
    package let server: RedisProcess
    package let proxy: TCPProxy

    package init() throws {
        server = try RedisProcess()
        proxy = try TCPProxy(to: server.port)
    }

    deinit {
        server.send(SIGCONT)
        proxy.close()
    }

    /// Of a gateway that goes by way of the proxy.
    package var linkedSettings: [String: String] {
        ["upstream.redis.url": "redis://127.0.0.1:\(proxy.port)/0"]
    }

    /// Of a gateway whose link stays.
    package var directSettings: [String: String] { ["upstream.redis.url": server.url] }
}
