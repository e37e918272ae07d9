import CHiredis
import Glibc

/// One connection to a Redis server or a sentinel: hiredis connects, `RedisReplyReader` reads
/// replies, the bytes go out through `send`. Owned by one link and used on its thread alone;
/// nothing here waits, but for `init` and `exchange`, which have a deadline. The handle ends with
/// the object.
final class RedisConnection {
    /// How many bytes are read from the socket at once.
    private static let chunk = 64 << 10

    let address: RedisOptions.Address
    private let context: UnsafeMutablePointer<redisContext>
    private let reader: RedisReplyReader
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
        guard let reader = RedisReplyReader(),
            let made = redisConnectWithTimeout(address.host, Int32(address.port), limit)
        else {
            throw RedisError(
                .unreachable, doing: "connect to", on: "\(address)", seen: "no memory",
                detail: "hiredis")
        }
        context = made
        self.reader = reader
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
            guard let read = reader.replies(in: buffer[..<count]) else { throw malformed() }
            replies += read
            if count < buffer.count { return replies }
        }
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
