import CPostgres
import Glibc

/// One connection to a Postgres server: libpq connects, speaks TLS and the protocol; statements go
/// out in pipeline mode and their results come in order. Owned by one link and used on its thread
/// alone. Nothing here waits, but for `init` and `exchange`, which have a deadline (and for the
/// resolving of a host's name, which libpq leaves to the system). The handle ends with the object.
package final class PostgresConnection {
    /// A statement with its parameters, as text; nil is NULL.
    package struct Statement: Sendable {
        package var text: String
        package var parameters: [[UInt8]?]

        package init(_ text: String, _ parameters: [[UInt8]?] = []) {
            self.text = text
            self.parameters = parameters
        }
    }

    private let handle: OpaquePointer
    /// The server as the log names it: host and port, never a password.
    package let server: String
    /// Statements that were prepared on this connection: text and name. A name is used once.
    private var prepared: [String: String] = [:]
    private var names = 0
    /// How many results are still to come for each group that was sent, oldest first.
    private var groups: [Group] = []

    /// Statements that were sent together: one transaction, which counts only when the server has
    /// said that it has ended, since a commit may fail behind the last of them.
    private struct Group {
        /// The statements that answer; what only prepares one does not count.
        var answers: [Bool]
        /// The texts that are prepared with it.
        var news: [String]
        var results: [PostgresResult] = []
        var refusal: PostgresResult.Refusal?
        var at = 0
    }

    /// Connects, within the deadline.
    /// - Parameters:
    ///   - url: as libpq takes it, or its `key=value` form.
    ///   - settings: what is set beside it or in its stead, by libpq's names.
    ///   - isCancelled: asked every tenth of a second; true ends the attempt.
    /// - Throws: `PostgresError.url`, `.unreachable`, `.deadline`.
    package init(
        _ url: String, _ settings: [(String, String)] = [],
        until deadline: ContinuousClock.Instant, isCancelled: () -> Bool = { false }
    ) throws(PostgresError) {
        // What stands before the URL holds where that says nothing.
        let keys = ["application_name", "target_session_attrs", "dbname"] + settings.map(\.0)
        let values = ["gapless", "primary", url] + settings.map(\.1)
        guard let made = Self.start(keys, values) else {
            throw PostgresError(
                .unreachable, doing: "connect to", on: "Postgres", seen: "no memory",
                detail: "libpq")
        }
        handle = made
        do throws(PostgresError) {
            try Self.finish(made, until: deadline, isCancelled)
        } catch {
            PQfinish(made)
            throw error
        }
        server = Self.name(made)
        // Otherwise libpq writes what a server says beside its results to standard error.
        _ = PQsetNoticeReceiver(made, { _, _ in }, nil)
        _ = PQsetnonblocking(made, 1)
        _ = PQenterPipelineMode(made)
    }

    deinit { PQfinish(handle) }

    package var descriptor: Int32 { PQsocket(handle) }

    /// The process of the server that this connection has.
    package var process: Int { Int(PQbackendPID(handle)) }

    /// Whether something that was sent has not been answered yet.
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

    /// Whether the descriptor is ready before the moment has come.
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
        // One line, in the words of libpq and of the server: they name host, role and database.
        let words = text.split(whereSeparator: \.isNewline)
            .map { $0.drop(while: \.isWhitespace) }.joined(separator: "; ")
        let isURL = text.contains("invalid connection option") || text.contains("URI")
        return PostgresError(
            isURL ? .url : .unreachable, doing: "connect to", on: name(made),
            seen: isURL ? "libpq does not take the URL" : words, detail: "libpq")
    }

    private static func name(_ made: OpaquePointer) -> String {
        let host = PQhost(made).map { String(cString: $0) } ?? ""
        let port = PQport(made).map { String(cString: $0) } ?? ""
        guard !host.isEmpty else { return "Postgres" }
        return "Postgres at " + (host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
    }

    // MARK: sending

    /// Sends statements together, as one transaction (statements of their own that begin and end
    /// one may be among them). What was sent before is prepared and only named.
    /// - Throws: `PostgresError.broken`.
    package func send(_ statements: [Statement]) throws(PostgresError) {
        var answers: [Bool] = []
        var news: [String] = []
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
                news.append(statement.text)
                answers.append(false)
            }
            guard execute(name, statement.parameters) else { throw broken("write to") }
            answers.append(true)
        }
        guard PQpipelineSync(handle) == 1 else { throw broken("write to") }
        groups.append(Group(answers: answers, news: news))
    }

    private func execute(_ name: String, _ parameters: [[UInt8]?]) -> Bool {
        // libpq wants an end of text that JSON and ids never hold.
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

    /// Gives the kernel what it takes. Whether there is more.
    /// - Throws: `PostgresError.broken`.
    package func flush() throws(PostgresError) -> Bool {
        let left = PQflush(handle)
        guard left >= 0 else { throw broken("write to") }
        return left > 0
    }

    // MARK: receiving

    /// Reads what has come.
    /// - Returns: For each group of statements that has ended the results of its statements, or why
    ///   none of it was done.
    /// - Throws: `PostgresError.broken`.
    package func receive() throws(PostgresError) -> [Result<[PostgresResult], Refused>] {
        guard PQconsumeInput(handle) == 1 else { throw broken("read from") }
        var ended: [Result<[PostgresResult], Refused>] = []
        // Between the results of two statements there is one that is none.
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

    /// Why a group of statements was not done.
    package struct Refused: Error, Sendable {
        package var refusal: PostgresResult.Refusal
    }

    private func take(_ result: OpaquePointer) -> Result<[PostgresResult], Refused>? {
        switch PQresultStatus(result) {
        case PGRES_PIPELINE_SYNC:
            let group = groups.removeFirst()
            if let refusal = group.refusal { return .failure(Refused(refusal: refusal)) }
            return .success(group.results)
        case PGRES_PIPELINE_ABORTED: groups[0].at += 1
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE, PGRES_NONFATAL_ERROR:
            groups[0].refusal = groups[0].refusal ?? Self.refusal(result)
            groups[0].at += 1
            // What was to be prepared with it may not be.
            for text in groups[0].news { prepared[text] = nil }
        default:
            let group = groups[0]
            if group.at < group.answers.count, group.answers[group.at] {
                groups[0].results.append(Self.rows(result))
            }
            groups[0].at += 1
        }
        return nil
    }

    private static func refusal(_ result: OpaquePointer) -> PostgresResult.Refusal {
        func field(_ code: Int32) -> String? {
            PQresultErrorField(result, code).map { String(cString: $0) }
        }
        let state = field(Int32(UInt8(ascii: "C"))) ?? "08006"
        // What is wrong with the server or with us, and not with a value, which it may quote.
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

    /// What was notified since the last call, in order.
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

    /// Sends and waits for the answer; for what comes before and beside the pipeline.
    /// - Throws: `PostgresError.broken`, `.deadline`, or `.refused` in the server's words.
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
