import CHiredis
import Glibc

/// One connection to a Redis server or a sentinel: hiredis connects and reads replies, the bytes go
/// out through `send`. Owned by one link and used on its thread alone; nothing here waits, but for
/// `init` and `exchange`, which have a deadline. The handle ends with the object.
final class RedisConnection {
    /// How many bytes are read from the socket at once.
    private static let chunk = 64 << 10

    let address: RedisOptions.Address
    private let context: UnsafeMutablePointer<redisContext>
    private var output: [UInt8] = []
    /// How much of `output` the kernel has taken.
    private var sent = 0
    private var buffer = [UInt8](repeating: 0, count: RedisConnection.chunk)

    /// Connects.
    /// - Throws: `RedisError.unreachable`.
    init(_ address: RedisOptions.Address, timeout: Duration) throws(RedisError) {
        self.address = address
        let (seconds, attoseconds) = timeout.components
        let limit = timeval(
            tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
        guard let made = redisConnectWithTimeout(address.host, Int32(address.port), limit) else {
            throw RedisError(
                .unreachable, doing: "connect to", on: "\(address)", seen: "no memory",
                detail: "hiredis")
        }
        context = made
        guard made.pointee.err == 0 else {
            // The text is hiredis's or the system's: it holds nothing of ours but the host.
            let seen = withUnsafeBytes(of: made.pointee.errstr) { text in
                String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
            }
            throw RedisError(
                .unreachable, doing: "connect to", on: "\(address)", seen: seen,
                detail: "within \(timeout)")
        }
        _ = fcntl(made.pointee.fd, F_SETFL, fcntl(made.pointee.fd, F_GETFL) | O_NONBLOCK)
    }

    deinit { redisFree(context) }

    var descriptor: Int32 { context.pointee.fd }

    /// Whether there are bytes that the kernel has not taken.
    var hasOutput: Bool { sent < output.count }

    /// How many bytes these are.
    var outputCount: Int { output.count - sent }

    // MARK: sending

    func append(_ command: RedisCommand, digests: [RedisScript: [UInt8]] = [:]) {
        command.append(to: &output, digests: digests)
    }

    /// Gives the kernel what it takes.
    /// - Throws: `RedisError.broken`.
    func flush() throws(RedisError) {
        while hasOutput {
            let count = output.withUnsafeBytes { bytes in
                // Without MSG_NOSIGNAL a connection that broke would end the process.
                Glibc.send(
                    descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN { return }
                throw broken("write to", "errno \(errno)")
            }
            sent += count
        }
        output.removeAll(keepingCapacity: output.capacity <= 1 << 20)
        sent = 0
    }

    // MARK: receiving

    /// The replies that have arrived as a whole.
    /// - Throws: `RedisError.broken`, `RedisError.malformed`.
    func receive() throws(RedisError) -> [RedisReply] {
        var replies: [RedisReply] = []
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN { return replies }
                throw broken("read from", "errno \(errno)")
            }
            if count == 0 { throw broken("read from", "the other side closed") }
            let fed = buffer.withUnsafeBufferPointer { bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    redisReaderFeed(context.pointee.reader, $0.baseAddress, count)
                }
            }
            guard fed == REDIS_OK else { throw malformed() }
            while let reply = try next() { replies.append(reply) }
            if count < buffer.count { return replies }
        }
    }

    private func next() throws(RedisError) -> RedisReply? {
        var found: UnsafeMutableRawPointer?
        guard redisReaderGetReply(context.pointee.reader, &found) == REDIS_OK else {
            throw malformed()
        }
        guard let found else { return nil }
        defer { freeReplyObject(found) }
        return Self.value(found.assumingMemoryBound(to: redisReply.self))
    }

    private static func value(_ reply: UnsafeMutablePointer<redisReply>) -> RedisReply {
        let reply = reply.pointee
        switch reply.type {
        case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: return .text(bytes(reply))
        case REDIS_REPLY_ERROR: return .error(String(decoding: bytes(reply), as: UTF8.self))
        case REDIS_REPLY_INTEGER: return .integer(Int(reply.integer))
        case REDIS_REPLY_ARRAY:
            let elements = UnsafeBufferPointer(start: reply.element, count: Int(reply.elements))
            return .array(elements.map { $0.map(value) ?? .none })
        default: return .none
        }
    }

    private static func bytes(_ reply: redisReply) -> [UInt8] {
        guard let start = reply.str else { return [] }
        return UnsafeRawBufferPointer(start: start, count: Int(reply.len)).map { $0 }
    }

    // MARK: one question at a time

    /// Sends and waits for as many replies; for what comes before and beside the pipeline.
    /// - Throws: `RedisError.broken`, `.malformed`, or `.deadline`.
    func exchange(
        _ commands: [RedisCommand], until deadline: ContinuousClock.Instant
    ) throws(RedisError) -> [RedisReply] {
        for command in commands { append(command) }
        var replies: [RedisReply] = []
        while replies.count < commands.count {
            try flush()
            guard ContinuousClock.now < deadline else {
                throw RedisError(
                    .deadline, doing: "ask", on: "\(address)", seen: "no reply in time",
                    detail: "\(replies.count) of \(commands.count) replies")
            }
            let ready = Wakeup.poll(descriptor, writing: hasOutput, nil, until: deadline)
            if ready.isReadable { replies += try receive() }
        }
        return replies
    }

    private func broken(_ doing: String, _ seen: String) -> RedisError {
        RedisError(.broken, doing: doing, on: "\(address)", seen: seen, detail: "connection lost")
    }

    private func malformed() -> RedisError {
        RedisError(
            .malformed, doing: "read from", on: "\(address)", seen: "not a reply of Redis",
            detail: "RESP2")
    }
}
