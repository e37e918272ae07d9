import Crypto
import Glibc

/// Where Redis is, and how it is used: `upstream.redis` and `sync` of the configuration. A value,
/// made once at start.
package struct RedisOptions: Sendable {
    /// The address of a server or a sentinel.
    package struct Address: Sendable, Hashable, CustomStringConvertible {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        /// An address from a server's reply; nil if the port is invalid.
        init?(host: String, told port: Int) {
            guard (1...65_535).contains(port) else { return nil }
            self.init(host: host, port: port)
        }

        package var description: String {
            host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }

    /// The server; with sentinels only the rest of the URL is used.
    package var address: Address
    package var login = RedisLogin()
    /// TLS, with servers and sentinels; nil: none.
    package var tls: TLSOptions?
    package var database: Int
    /// The sentinels; empty: the server of the URL is the master.
    package var sentinels: [Address] = []
    /// Whether the server is a node of a cluster, which names the other nodes.
    package var isCluster = false
    /// The master's name at the sentinels.
    package var master = "mymaster"
    /// The prefix of all keys and channels.
    package var prefix = "gapless:"
    /// The messages to keep per conversation; 0: all.
    package var retain = 0
    /// How long (ms) the id of a trimmed message stays known.
    package var retainIds: Int64 = 7 * 24 * 3_600_000
    /// The most bytes of the messages in one answer; `limits.reply`.
    package var bytes = 1 << 20
    /// The first backoff before reconnecting; it doubles with each failure.
    package var backoffBase = Duration.milliseconds(100)
    /// The longest backoff before reconnecting; for links at most `Backoff.longest`.
    package var backoffMax = Duration.seconds(30)
    /// The deadline in which a dead link is noticed, and a question is answered or refused: long
    /// compared with a pause of the server (a fork, a slow command), short compared with what
    /// people wait for.
    package var deadline = Duration.seconds(2)
    /// How long the server may have changes that are on no disk before somebody is told.
    package var unsavedPatience = Duration.seconds(3600)

    /// Reads `redis://[user:password@]host:port/db`, or `rediss://` for TLS; port and db are
    /// optional, and the password if it comes from a file.
    /// - Throws: `RedisError.url` for anything else. The message never contains the URL, which may
    ///   hold a password.
    package init(url: String) throws(RedisError) {
        guard let schemeEnd = Self.end(of: "://", in: Array(url.utf8)) else {
            throw Self.refused("no scheme")
        }
        let bytes = Array(url.utf8)
        switch String(decoding: bytes[..<schemeEnd.start], as: UTF8.self) {
        case "redis": break
        case "rediss": tls = TLSOptions()
        default: throw Self.refused("another scheme")
        }
        var rest = bytes[schemeEnd.end...]
        database = 0
        if let slash = rest.firstIndex(of: UInt8(ascii: "/")) {
            let text = String(decoding: rest[(slash + 1)...], as: UTF8.self)
            guard text.isEmpty || Int(text).map({ (0...65_535).contains($0) }) == true else {
                throw Self.refused("a database that is no number")
            }
            database = Int(text) ?? 0
            rest = rest[..<slash]
        }
        if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
            let parts = rest[..<at].split(
                separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            let texts = parts.map { Self.unescaped($0) }
            login.user = texts.first.flatMap { $0.isEmpty ? nil : $0 }
            login.password = texts.count > 1 ? texts[1] : nil
            rest = rest[(at + 1)...]
        }
        guard let address = Self.address(rest) else { throw Self.refused("no host and port") }
        self.address = address
    }

    /// The command that publishes an event.
    var publishing: [UInt8] { Array((isCluster ? "SPUBLISH" : "PUBLISH").utf8) }

    /// Checks that the files can be used.
    /// - Throws: `RedisError` that names the one that can't.
    package func check() throws(RedisError) {
        _ = try login.command()
        guard let tls else { return }
        do throws(TLSError) {
            _ = try TLSSession(tls, host: address.host)
        } catch {
            throw RedisError(error, address)
        }
    }

    private static func end(of text: String, in bytes: [UInt8]) -> (start: Int, end: Int)? {
        let wanted = Array(text.utf8)
        guard bytes.count >= wanted.count else { return nil }
        for start in 0...bytes.count - wanted.count
        where bytes[start..<start + wanted.count].elementsEqual(wanted) {
            return (start, start + wanted.count)
        }
        return nil
    }

    /// `host`, `host:port` or `[::1]:port`.
    private static func address(_ bytes: ArraySlice<UInt8>) -> Address? {
        var host = bytes
        var port = 6379
        let bracket = bytes.lastIndex(of: UInt8(ascii: "]")) ?? bytes.startIndex
        if let colon = bytes.lastIndex(of: UInt8(ascii: ":")), colon >= bracket {
            guard let number = Int(String(decoding: bytes[(colon + 1)...], as: UTF8.self)),
                (1...65_535).contains(number)
            else { return nil }
            port = number
            host = bytes[..<colon]
        }
        let name = String(decoding: host, as: UTF8.self)
        let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
        let bare = isBracketed ? name.dropFirst().dropLast() : name[...]
        return bare.isEmpty ? nil : Address(host: String(bare), port: port)
    }

    /// Decodes percent-encoding; invalid escapes stay as they are.
    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
        var result: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "%"), digits.utf8.count == 2,
                let value = UInt8(digits, radix: 16)
            {
                result.append(value)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func refused(_ seen: String) -> RedisError {
        RedisError(
            .url, doing: "read", on: "upstream.redis.url", seen: seen,
            detail: "accepted: redis[s]://[user:password@]host:port/db")
    }
}
