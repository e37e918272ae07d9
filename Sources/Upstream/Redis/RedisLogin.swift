import Glibc

/// How a connection logs in to Redis. A value.
package struct RedisLogin: Sendable {
    package var user: String?
    package var password: String?
    /// The file with the password, read for each connection; nil: `password` counts.
    package var passwordFile: String?

    /// The first command of a connection, if there is a password.
    func command() throws(RedisError) -> RedisCommand? {
        let secret = try secret()
        guard let secret else { return nil }
        let names = ["AUTH", user].compactMap { $0.map { Array($0.utf8) } }
        return .words(names + [secret])
    }

    private func secret() throws(RedisError) -> [UInt8]? {
        guard let passwordFile else { return password.map { Array($0.utf8) } }
        func failure(_ seen: String) -> RedisError {
            RedisError(
                .credentials, doing: "read", on: passwordFile, seen: seen,
                detail: "upstream.redis.password_file")
        }
        let descriptor = open(passwordFile, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("errno \(errno)") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        let line = bytes.prefix(max(0, count)).prefix { $0 != 0x0A && $0 != 0x0D }
        guard !line.isEmpty, count < bytes.count else { throw failure("no line with a password") }
        return Array(line)
    }
}
