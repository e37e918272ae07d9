import Configuration
import Crypto
import Engine
import Upstream

/// Redis options from the configuration.
extension RedisOptions {
    /// Reads the configuration.
    /// - Throws: `RedisError`, if the URL or one of the files can't be used.
    init(_ configuration: Configuration, bytes: Int) throws {
        let redis = configuration.upstream.redis
        try self.init(url: redis.url)
        sentinels = redis.sentinels.map { Address(host: $0.host, port: Int($0.port)) }
        if let name = redis.master { master = name }
        isCluster = redis.cluster
        prefix = redis.prefix
        retain = redis.retain
        retainIds = redis.retainIds
        login.passwordFile = redis.passwordFile
        tls?.authorities = redis.tls.caFile
        tls?.certificate = redis.tls.certificate
        tls?.key = redis.tls.key
        tls?.name = redis.tls.serverName
        // For a missing file OpenSSL says no more than "system lib".
        for (key, path) in [
            ("ca_file", tls?.authorities), ("certificate", tls?.certificate), ("key", tls?.key),
        ] {
            guard let path else { continue }
            do throws(FileError) {
                _ = try Files.read(path, limit: 1 << 20)
            } catch {
                throw RedisError(.tls, "upstream.redis.tls.\(key): \(error)")
            }
        }
        try check()
        self.bytes = bytes
        backoffBase = .milliseconds(configuration.sync.backoffBase)
        backoffMax = .milliseconds(configuration.sync.backoffMax)
    }
}
