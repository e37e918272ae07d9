import CPostgres

/// A blocking session with a server: one script, one answer. For the commands that install and
/// check a schema, and for tests; a gateway never blocks like this. Not shared between threads; the
/// connection ends with the object.
package final class SchemaSession {
    /// An error of the server, or of libpq.
    package struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// The SQLSTATE; `08006` if there is no connection.
        package var state: String
        package var message: String
        package var detail: String?
        package var hint: String?

        package var description: String {
            let more = [detail, hint].compactMap(\.self).map { "\n  \($0)" }
            return "\(message) (\(state))" + more.joined()
        }
    }

    /// Collects notices while a script runs; libpq gets its address as context.
    private final class Notices {
        var texts: [String] = []
    }

    private let handle: OpaquePointer
    private let heard = Notices()

    /// Connects, and waits for that.
    /// - Parameter url: as libpq accepts it.
    /// - Throws: `Refusal` with libpq's text.
    package init(_ url: String) throws(Refusal) {
        guard let made = PQconnectdb(url) else {
            throw Refusal(state: "53200", message: "libpq: no memory")
        }
        guard PQstatus(made) == CONNECTION_OK else {
            let text = PQerrorMessage(made).map { String(cString: $0) } ?? ""
            PQfinish(made)
            let line = text.split(whereSeparator: \.isNewline).joined(separator: "; ")
            throw Refusal(state: "08006", message: line)
        }
        handle = made
        let context = Unmanaged.passUnretained(heard).toOpaque()
        _ = PQsetNoticeReceiver(
            made,
            { context, result in
                guard let context,
                    let text = PQresultErrorField(result, Int32(UInt8(ascii: "M")))
                else { return }
                let hint = PQresultErrorField(result, Int32(UInt8(ascii: "H")))
                    .map { "\n  " + String(cString: $0) }
                Unmanaged<Notices>.fromOpaque(context).takeUnretainedValue().texts
                    .append(String(cString: text) + (hint ?? ""))
            }, context)
    }

    deinit { PQfinish(handle) }

    /// The server's process for this connection.
    package var process: Int { Int(PQbackendPID(handle)) }

    /// The notices since the last call, with hints.
    package func notices() -> [String] {
        defer { heard.texts = [] }
        return heard.texts
    }

    /// Runs statements, and waits.
    /// - Returns: The rows of the last statement that has any, as text; nil for NULL.
    /// - Throws: `Refusal`; the script's open transaction is then rolled back.
    @discardableResult
    package func run(_ script: String) throws(Refusal) -> [[String?]] {
        try begin(script)
        return try finish()
    }

    /// Runs one statement with parameters `$1` and on, and waits.
    /// - Throws: `Refusal`
    @discardableResult
    package func run(
        _ statement: String, _ parameters: [String?]
    ) throws(Refusal) -> [[String?]] {
        let sent = withTexts(parameters) { values in
            PQsendQueryParams(
                handle, statement, Int32(parameters.count), nil, values, nil, nil, 0)
        }
        guard sent == 1 else { throw broken() }
        return try finish()
    }

    /// Sends statements without waiting for their end.
    /// - Throws: `Refusal`
    package func begin(_ script: String) throws(Refusal) {
        guard PQsendQuery(handle, script) == 1 else { throw broken() }
    }

    /// Whether the statements that were sent have ended.
    package var isDone: Bool {
        PQconsumeInput(handle) == 0 || PQisBusy(handle) == 0
    }

    /// Waits for the statements that were sent.
    /// - Throws: `Refusal`
    package func finish() throws(Refusal) -> [[String?]] {
        var rows: [[String?]] = []
        var refusal: Refusal?
        while let result = PQgetResult(handle) {
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK: rows = Self.rows(result)
            case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: continue
            default: refusal = refusal ?? Self.refusal(result)
            }
        }
        if let refusal { throw refusal }
        return rows
    }

    /// The notifications since the last call, in order: channel and payload.
    package func notifications() -> [(channel: String, payload: String)] {
        _ = PQconsumeInput(handle)
        var all: [(channel: String, payload: String)] = []
        while let notify = PQnotifies(handle) {
            all.append(
                (String(cString: notify.pointee.relname), String(cString: notify.pointee.extra)))
            PQfreemem(notify)
        }
        return all
    }

    private func broken() -> Refusal {
        let text = PQerrorMessage(handle).map { String(cString: $0) } ?? ""
        let line = text.split(whereSeparator: \.isNewline).joined(separator: "; ")
        return Refusal(state: "08006", message: line)
    }

    private static func refusal(_ result: OpaquePointer) -> Refusal {
        func field(_ letter: Unicode.Scalar) -> String? {
            PQresultErrorField(result, Int32(letter.value)).map { String(cString: $0) }
        }
        return Refusal(
            state: field("C") ?? "08006", message: field("M") ?? "the connection broke",
            detail: field("D"), hint: field("H"))
    }

    private static func rows(_ result: OpaquePointer) -> [[String?]] {
        (0..<PQntuples(result)).map { row in
            (0..<PQnfields(result)).map { column in
                guard PQgetisnull(result, row, column) == 0 else { return nil }
                return PQgetvalue(result, row, column).map { String(cString: $0) }
            }
        }
    }

    /// Lends texts to C; nil becomes NULL.
    private func withTexts<Result>(
        _ texts: [String?], _ body: ([UnsafePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = texts.map { text -> UnsafeMutableBufferPointer<CChar>? in
            guard let text else { return nil }
            let bytes = Array(text.utf8CString)
            let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
            _ = copy.initialize(from: bytes)
            return copy
        }
        defer { for copy in copies { copy?.deallocate() } }
        return body(copies.map { UnsafePointer($0?.baseAddress) })
    }
}
