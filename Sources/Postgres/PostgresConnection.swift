import CPostgres
import Glibc

/// A connection to a Postgres server: libpq connects and speaks TLS and the protocol; statements
/// are sent in pipeline mode and results come in order. Owned by one link and used on its thread
/// only. Nothing blocks except `init` and `exchange`, which have a deadline (and name resolution,
/// which libpq leaves to the system). The handle is freed with the object.
package final class PostgresConnection {
    /// A statement with its parameters as text; nil for NULL.
    package struct Statement: Sendable {
        package var text: String
        package var parameters: [[UInt8]?]

        package init(_ text: String, _ parameters: [[UInt8]?] = []) {
            self.text = text
            self.parameters = parameters
        }
    }

    private let handle: OpaquePointer
    /// The server's name for the log: host and port, never a password.
    package let server: String
    /// Statements prepared on this connection: text and name. Names are never reused.
    private var prepared: [String: String] = [:]
    private var names = 0
    /// The groups of statements in flight, oldest first.
    private var groups: [Group] = []
    private let warnings = CommitWarnings()

    /// Statements sent together as one transaction. It counts only once the server reports its end,
    /// since the commit may fail after the last statement.
    private struct Group {
        /// For each request, whether its result is an answer; preparing a statement has none.
        var answers: [Bool]
        /// The statements that this group prepares and the server has not prepared yet, by the
        /// request that does.
        var news: [Int: String]
        var results: [PostgresResult] = []
        var refusal: PostgresResult.Refusal?
        var at = 0
    }

    /// Connects, within the deadline.
    /// - Parameters:
    ///   - url: a URL or `key=value` words, as libpq accepts them.
    ///   - settings: more settings by libpq's names; they override the URL.
    ///   - isCancelled: polled every tenth of a second; true ends the attempt.
    /// - Throws: `PostgresError.url`, `.unreachable`, `.credentials`, `.full`, `.deadline`.
    package init(
        _ url: String, _ settings: [(String, String)] = [],
        until deadline: ContinuousClock.Instant, isCancelled: () -> Bool = { false }
    ) throws(PostgresError) {
        // Settings before the URL are defaults for it.
        let keys = ["application_name", "target_session_attrs", "dbname"] + settings.map(\.0)
        let values = ["gapless", "primary", url] + settings.map(\.1)
        guard let made = Self.start(keys, values) else {
            throw PostgresError(
                .unreachable, doing: "connect to", on: "Postgres", seen: "no memory",
                detail: "libpq")
        }
        handle = made
        // Only so does libpq give the SQLSTATE of a refused connection: within its text.
        let usual = PQsetErrorVerbosity(made, PQERRORS_VERBOSE)
        do throws(PostgresError) {
            try Self.finish(made, until: deadline, isCancelled)
        } catch {
            PQfinish(made)
            throw error
        }
        PQsetErrorVerbosity(made, usual)
        server = Self.name(made)
        warnings.hear(made)
        _ = PQsetnonblocking(made, 1)
        _ = PQenterPipelineMode(made)
    }

    deinit { PQfinish(handle) }

    package var descriptor: Int32 { PQsocket(handle) }

    /// The server's process for this connection.
    package var process: Int { Int(PQbackendPID(handle)) }

    /// Whether answers are outstanding.
    package var isWaiting: Bool { !groups.isEmpty }

    // MARK: connecting

    private static func start(_ keys: [String], _ values: [String]) -> OpaquePointer? {
        let names = keys.map { strdup($0) }
        let texts = values.map { strdup($0) }
        defer { for text in names + texts { free(text) } }
        let ended = { (all: [UnsafeMutablePointer<CChar>?]) in
            all.map { UnsafePointer<CChar>($0) } + [nil]
        }
        return PQconnectStartParams(ended(names), ended(texts), 1)
    }

    private static func finish(
        _ made: OpaquePointer, until deadline: ContinuousClock.Instant, _ isCancelled: () -> Bool
    ) throws(PostgresError) {
        guard PQstatus(made) != CONNECTION_BAD else { throw refused(made) }
        var wanted = PGRES_POLLING_WRITING
        while true {
            guard ContinuousClock.now < deadline, !isCancelled() else {
                throw PostgresError(
                    .deadline, doing: "connect to", on: name(made), seen: "no answer in time",
                    detail: "the server, or a host before it, does not answer")
            }
            let slice = min(deadline, ContinuousClock.now + .milliseconds(100))
            let ready = wait(
                PQsocket(made), reading: wanted == PGRES_POLLING_READING,
                writing: wanted == PGRES_POLLING_WRITING, until: slice)
            guard ready else { continue }
            wanted = PQconnectPoll(made)
            if wanted == PGRES_POLLING_OK { return }
            if wanted == PGRES_POLLING_FAILED { throw refused(made) }
        }
    }

    /// Waits for the descriptor.
    /// - Returns: whether it is ready in time.
    private static func wait(
        _ descriptor: Int32, reading: Bool, writing: Bool, until moment: ContinuousClock.Instant
    ) -> Bool {
        let events = Int16(reading ? POLLIN : 0) | Int16(writing ? POLLOUT : 0)
        var watched = [pollfd(fd: descriptor, events: events, revents: 0)]
        let (seconds, attoseconds) = (moment - ContinuousClock.now).components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1
        return poll(&watched, 1, Int32(clamping: max(0, milliseconds))) > 0
    }

    private static func refused(_ made: OpaquePointer) -> PostgresError {
        let text = PQerrorMessage(made).map { String(cString: $0) } ?? ""
        // One line from the texts of libpq and the server, which name host, role and database, but
        // not the place in the server's source.
        let words = text.split(whereSeparator: \.isNewline)
            .filter { !$0.contains(/\.c:\d+$/) }
            .map { $0.drop(while: \.isWhitespace) }.joined(separator: "; ")
        let isURL = text.contains("invalid connection option") || text.contains("URI")
        let state = text.firstMatch(of: /: +([0-9][0-9A-Z]{4}):/)?.1
        return PostgresError(
            isURL ? .url : code(of: state), doing: "connect to", on: name(made),
            seen: isURL ? "libpq does not take the URL" : words, detail: "libpq")
    }

    /// - Parameter state: the SQLSTATE with which the server refused; nil if none answered.
    private static func code(of state: Substring?) -> PostgresError.Code {
        switch state {
        case "28000", "28P01": .credentials
        case "53300": .full
        default: .unreachable
        }
    }

    private static func name(_ made: OpaquePointer) -> String {
        let host = PQhost(made).map { String(cString: $0) } ?? ""
        let port = PQport(made).map { String(cString: $0) } ?? ""
        guard !host.isEmpty else { return "Postgres" }
        return "Postgres at " + (host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
    }

    // MARK: sending

    /// Sends statements together as one transaction (they may contain statements that begin and end
    /// one). Statements sent before are not sent again, only named.
    package func send(_ statements: [Statement]) throws(PostgresError) {
        var answers: [Bool] = []
        var news: [Int: String] = [:]
        for statement in statements {
            let name: String
            if let known = prepared[statement.text] {
                name = known
            } else {
                names += 1
                name = "s\(names)"
                guard PQsendPrepare(handle, name, statement.text, 0, nil) == 1 else {
                    throw broken("write to")
                }
                prepared[statement.text] = name
                news[answers.count] = statement.text
                answers.append(false)
            }
            guard execute(name, statement.parameters) else { throw broken("write to") }
            answers.append(true)
        }
        guard PQpipelineSync(handle) == 1 else { throw broken("write to") }
        groups.append(Group(answers: answers, news: news))
    }

    private func execute(_ name: String, _ parameters: [[UInt8]?]) -> Bool {
        // libpq needs zero-terminated texts; JSON and ids never contain a zero byte.
        let texts = parameters.map { bytes in
            bytes.map { bytes in bytes.map { CChar(bitPattern: $0) } + [0] }
        }
        let copies = texts.map { text -> UnsafeMutablePointer<CChar>? in
            guard let text else { return nil }
            let copy = UnsafeMutablePointer<CChar>.allocate(capacity: text.count)
            copy.initialize(from: text, count: text.count)
            return copy
        }
        defer { for copy in copies { copy?.deallocate() } }
        let values = copies.map { UnsafePointer<CChar>($0) }
        return PQsendQueryPrepared(handle, name, Int32(values.count), values, nil, nil, 0) == 1
    }

    /// Sends as much as the kernel takes.
    /// - Returns: whether more is left.
    /// - Throws: `PostgresError.broken`.
    package func flush() throws(PostgresError) -> Bool {
        let left = PQflush(handle)
        guard left >= 0 else { throw broken("write to") }
        return left > 0
    }

    // MARK: receiving

    /// Reads what has arrived.
    /// - Returns: For each group that ended, the results of its statements, or why none was
    ///   executed or is certain to last.
    /// - Throws: `PostgresError.broken`.
    package func receive() throws(PostgresError) -> [Result<[PostgresResult], Refused>] {
        guard PQconsumeInput(handle) == 1 else { throw broken("read from") }
        var ended: [Result<[PostgresResult], Refused>] = []
        // libpq returns a nil between the results of two statements.
        var nothing = 0
        while !groups.isEmpty, nothing < 2, PQisBusy(handle) == 0 {
            guard let result = PQgetResult(handle) else {
                nothing += 1
                continue
            }
            nothing = 0
            defer { PQclear(result) }
            if let group = take(result) { ended.append(group) }
        }
        guard PQstatus(handle) != CONNECTION_BAD else { throw broken("read from") }
        return ended
    }

    /// Why a group of statements was not executed, or may be lost although it was.
    package struct Refused: Error, Sendable {
        package var refusal: PostgresResult.Refusal
    }

    private func take(_ result: OpaquePointer) -> Result<[PostgresResult], Refused>? {
        switch PQresultStatus(result) {
        case PGRES_PIPELINE_SYNC:
            let group = groups.removeFirst()
            // It came before the end of this transaction, and libpq reads in order.
            let warning = warnings.take()
            if let refusal = group.refusal ?? warning { return .failure(Refused(refusal: refusal)) }
            return .success(group.results)
        case PGRES_PIPELINE_ABORTED: groups[0].at += 1
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE, PGRES_NONFATAL_ERROR:
            groups[0].refusal = groups[0].refusal ?? Self.refusal(result)
            groups[0].at += 1
            // What was to be prepared here or behind it is not; what was prepared before it stays,
            // since that belongs to no transaction.
            for text in groups[0].news.values { prepared[text] = nil }
        default:
            let group = groups[0]
            if group.at < group.answers.count, group.answers[group.at] {
                groups[0].results.append(Self.rows(result))
            }
            groups[0].news[group.at] = nil
            groups[0].at += 1
        }
        return nil
    }

    private static func refusal(_ result: OpaquePointer) -> PostgresResult.Refusal {
        func field(_ code: Int32) -> String? {
            PQresultErrorField(result, code).map { String(cString: $0) }
        }
        let state = field(Int32(UInt8(ascii: "C"))) ?? "08006"
        // Errors of the server or of ours; texts of other errors may quote a value.
        let kinds = ["08", "28", "25", "3D", "3F", "40", "42", "53", "54", "55", "57", "58", "XX"]
        let isSafe = kinds.contains { state.hasPrefix($0) }
        return .init(state: state, text: isSafe ? field(Int32(UInt8(ascii: "M"))) : nil)
    }

    private static func rows(_ result: OpaquePointer) -> PostgresResult {
        var read = PostgresResult()
        let columns = PQnfields(result)
        read.rows = (0..<PQntuples(result)).map { row in
            (0..<columns).map { column in
                guard PQgetisnull(result, row, column) == 0,
                    let value = PQgetvalue(result, row, column)
                else { return nil }
                let count = Int(PQgetlength(result, row, column))
                return Array(UnsafeRawBufferPointer(start: value, count: count))
            }
        }
        return read
    }

    /// The notifications since the last call, in order.
    package func notifications() -> [PostgresNotification] {
        var all: [PostgresNotification] = []
        while let notify = PQnotifies(handle) {
            all.append(
                PostgresNotification(
                    channel: String(cString: notify.pointee.relname),
                    payload: String(cString: notify.pointee.extra)))
            PQfreemem(notify)
        }
        return all
    }

    // MARK: one question at a time

    /// Sends statements and waits for the answer; for use before or outside the pipeline.
    package func exchange(
        _ statements: [Statement], until deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> [PostgresResult] {
        try send(statements)
        while true {
            let isWriting = try flush()
            guard ContinuousClock.now < deadline else {
                throw PostgresError(
                    .deadline, doing: "ask", on: server, seen: "no answer in time",
                    detail: "\(statements.count) statements")
            }
            _ = Self.wait(descriptor, reading: true, writing: isWriting, until: deadline)
            for ended in try receive() {
                switch ended {
                case .success(let results): return results
                case .failure(let refused):
                    throw PostgresError(
                        .refused, doing: "ask", on: server,
                        seen: refused.refusal.text ?? "refused", detail: refused.refusal.state)
                }
            }
        }
    }

    private func broken(_ doing: String) -> PostgresError {
        let text = PQerrorMessage(handle).map { String(cString: $0) } ?? ""
        let words = text.split(whereSeparator: \.isNewline)
            .map { $0.drop(while: \.isWhitespace) }.joined(separator: "; ")
        return PostgresError(
            .broken, doing: doing, on: server, seen: words.isEmpty ? "connection lost" : words,
            detail: "libpq")
    }
}
