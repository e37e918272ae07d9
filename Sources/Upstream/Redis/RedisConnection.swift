import CHiredis
import Crypto
import Glibc

/// A connection to a Redis server or a sentinel: hiredis connects, `RedisReplyReader` reads
/// replies, bytes are sent with `send`, through `TLSSession` if the URL says `rediss`. Owned by one
/// link and used on its thread only; nothing blocks except `init` and `exchange`, which have a
/// deadline. The handle is freed with the object.
final class RedisConnection {
    /// The most bytes read from the socket at once.
    private static let chunk = 64 << 10

    let address: RedisOptions.Address
    private let context: UnsafeMutablePointer<redisContext>
    private let reader: RedisReplyReader
    private var tls: TLSSession?
    /// Plain bytes to encrypt before they are sent.
    private var plain: [UInt8] = []
    private var output: [UInt8] = []
    /// The bytes of `output` that the kernel has taken.
    private var sent = 0
    private var buffer = [UInt8](repeating: 0, count: RedisConnection.chunk)

    /// Connects, within the deadline of the options.
    /// - Throws: `RedisError.unreachable`, `.tls`, `.deadline`.
    init(_ address: RedisOptions.Address, _ options: RedisOptions) throws(RedisError) {
        self.address = address
        let timeout = options.deadline
        let deadline = ContinuousClock.now + timeout
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
        guard let settings = options.tls else { return }
        try shakeHands(settings, until: deadline, timeout)
    }

    deinit { redisFree(context) }

    var descriptor: Int32 { context.pointee.fd }

    /// Whether bytes are left that the kernel has not taken.
    var hasOutput: Bool { sent < output.count || !plain.isEmpty }

    // MARK: TLS

    private func shakeHands(
        _ settings: TLSOptions, until deadline: ContinuousClock.Instant, _ timeout: Duration
    ) throws(RedisError) {
        let session: TLSSession
        do throws(TLSError) {
            session = try TLSSession(settings, host: address.host)
        } catch {
            throw RedisError(error, address)
        }
        while true {
            let result: Result<Bool, TLSError>
            do throws(TLSError) { result = .success(try session.shakeHands()) } catch {
                result = .failure(error)
            }
            // After a failure too: the other side gets the TLS alert.
            output += session.pending()
            if case .failure(let error) = result {
                try? flush()
                throw RedisError(error, address)
            }
            try flush()
            if case .success(true) = result, !hasOutput { break }
            guard ContinuousClock.now < deadline else {
                throw RedisError(
                    .deadline, doing: "connect to", on: "\(address)",
                    seen: "no TLS handshake in time", detail: "\(timeout)")
            }
            let ready = Wakeup.poll(descriptor, writing: hasOutput, nil, until: deadline)
            if ready.isReadable, let count = try read() { session.take(buffer[..<count]) }
        }
        tls = session
    }

    private func sealed<Value>(
        _ body: () throws(TLSError) -> Value
    ) throws(RedisError) -> Value {
        do throws(TLSError) { return try body() } catch { throw RedisError(error, address) }
    }

    // MARK: sending

    func append(_ command: RedisCommand, digests: [RedisScript: [UInt8]] = [:]) {
        if tls == nil {
            command.append(to: &output, digests: digests)
        } else {
            command.append(to: &plain, digests: digests)
        }
    }

    /// Sends as much as the kernel takes.
    func flush() throws(RedisError) {
        if let tls, !plain.isEmpty {
            try sealed { () throws(TLSError) in try tls.seal(plain) }
            plain.removeAll(keepingCapacity: plain.capacity <= 1 << 20)
            output += tls.pending()
        }
        while sent < output.count {
            let count = output.withUnsafeBytes { bytes in
                // Without MSG_NOSIGNAL a broken connection would end the process.
                Glibc.send(
                    descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN { return }
                let failure = broken("write to", "errno \(errno)")
                // The other side may have sent a TLS alert.
                if tls != nil { _ = try receive() }
                throw failure
            }
            sent += count
        }
        output.removeAll(keepingCapacity: output.capacity <= 1 << 20)
        sent = 0
    }

    // MARK: receiving

    /// The replies that have arrived completely.
    func receive() throws(RedisError) -> [RedisReply] {
        var replies: [RedisReply] = []
        while let count = try read() {
            guard let whole = try self.replies(in: buffer[..<count]) else { throw malformed() }
            replies += whole
            if count < buffer.count { break }
        }
        return replies
    }

    private func replies(in bytes: ArraySlice<UInt8>) throws(RedisError) -> [RedisReply]? {
        guard let tls else { return reader.replies(in: bytes) }
        tls.take(bytes)
        let opened = try sealed { () throws(TLSError) in try tls.opened() }
        // Answers of the TLS protocol itself.
        output += tls.pending()
        return reader.replies(in: opened[...])
    }

    /// Reads bytes into `buffer`; nil if there are none yet.
    private func read() throws(RedisError) -> Int? {
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 { return count }
            if count == 0 { throw broken("read from", "the other side closed") }
            if errno == EAGAIN { return nil }
            if errno != EINTR { throw broken("read from", "errno \(errno)") }
        }
    }

    // MARK: one question at a time

    /// Sends commands and waits for their replies; for use before or outside the pipeline.
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

extension RedisError {
    /// Why TLS with a server failed, and the key of the configuration that matters.
    init(_ error: TLSError, _ address: RedisOptions.Address) {
        let detail =
            switch error.code {
            case .file: "upstream.redis.tls"
            case .untrusted: "upstream.redis.tls.ca_file"
            case .anotherName: "upstream.redis.tls.server_name"
            case .refused: "upstream.redis.tls.certificate"
            case .broken: "rediss://"
            }
        self.init(
            .tls, doing: "connect to", on: "\(address)", seen: error.seen, detail: detail)
    }
}
