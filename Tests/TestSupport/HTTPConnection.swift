import Glibc

/// A small HTTP/1.1 client over one kept connection; a new one is opened where the server closed
/// the last. Knows `Content-Length` and `chunked`.
package final class HTTPConnection {
    package struct Response: Sendable {
        package var status: Int
        /// Names in lower case.
        package var headers: [String: String]
        package var body: [UInt8]

        package var text: String { String(decoding: body, as: UTF8.self) }

        /// The body read as JSON, `.null` where it is none.
        package var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }
    }

    package let port: Int
    /// Sent with every request, e.g. `Authorization`.
    package var standingHeaders: [String: String] = [:]
    private var socket: TCPSocket?
    private var buffer: [UInt8] = []

    package init(port: Int) { self.port = port }

    /// Sends a request and waits for its answer.
    ///
    /// - Throws: `TestFailure` where there is no whole answer in time.
    package func send(
        _ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8] = [],
        deadline: Deadline = .standard
    ) throws -> Response {
        let bytes = request(method, path, headers: headers, body: body)
        let isFresh = socket == nil
        do {
            return try exchange(bytes, method: method, deadline)
        } catch {
            // A kept connection may have been closed by the server since; a fresh one may not.
            socket = nil
            if isFresh { throw error }
            return try exchange(bytes, method: method, deadline)
        }
    }

    package func send(
        _ method: String, _ path: String, headers: [String: String] = [:], json: JSONValue,
        deadline: Deadline = .standard
    ) throws -> Response {
        var headers = headers
        headers["Content-Type"] = "application/json"
        return try send(method, path, headers: headers, body: json.bytes, deadline: deadline)
    }

    /// Sends bytes as they are, on a connection of their own, and gives back everything until the
    /// server closes, or what there is at the deadline.
    package static func raw(
        port: Int, _ bytes: [UInt8], deadline: Deadline
    ) throws -> [UInt8] {
        let socket = try TCPSocket(port: port)
        try socket.write(bytes, deadline: deadline)
        var answer: [UInt8] = []
        while !socket.isAtEnd, socket.waitToRead(deadline) { answer += socket.readAvailable() }
        return answer
    }

    private func request(
        _ method: String, _ path: String, headers: [String: String], body: [UInt8]
    ) -> [UInt8] {
        var all = ["Host": "127.0.0.1:\(port)"]
        all.merge(standingHeaders) { _, last in last }
        all.merge(headers) { _, last in last }
        if !body.isEmpty || ["POST", "PUT", "PATCH"].contains(method) {
            all["Content-Length"] = all["Content-Length"] ?? String(body.count)
        }
        let lines = all.map { "\($0.key): \($0.value)\r\n" }.joined()
        return Array("\(method) \(path) HTTP/1.1\r\n\(lines)\r\n".utf8) + body
    }

    private func exchange(
        _ bytes: [UInt8], method: String, _ deadline: Deadline
    ) throws -> Response {
        let socket = try self.socket ?? TCPSocket(port: port)
        if self.socket == nil { buffer = [] }
        self.socket = socket
        try socket.write(bytes, deadline: deadline)
        return try readResponse(socket, hasBody: method != "HEAD", deadline)
    }

    private func readResponse(
        _ socket: TCPSocket, hasBody: Bool, _ deadline: Deadline
    ) throws -> Response {
        let head = try take(until: Array("\r\n\r\n".utf8), socket, deadline)
        var lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")[...]
        let words = (lines.popFirst() ?? "").split(separator: " ")
        guard words.count >= 2, let status = Int(words[1]) else {
            throw TestFailure("an HTTP answer begins with no status line")
        }
        var headers: [String: String] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...]
            headers[line[..<colon].lowercased()] = String(value.drop { $0 == " " })
        }
        var body: [UInt8] = []
        if hasBody, status != 204, status != 304, status != 101 {
            if headers["transfer-encoding"]?.lowercased() == "chunked" {
                body = try readChunks(socket, deadline)
            } else if let length = headers["content-length"].flatMap({ Int($0) }) {
                body = try take(count: length, socket, deadline)
            } else {
                body = try readToEnd(socket, deadline)
            }
        }
        if headers["connection"]?.lowercased() == "close" { self.socket = nil }
        return Response(status: status, headers: headers, body: body)
    }

    private func readChunks(_ socket: TCPSocket, _ deadline: Deadline) throws -> [UInt8] {
        var body: [UInt8] = []
        while true {
            let line = try take(until: [13, 10], socket, deadline)
            let size = String(decoding: line, as: UTF8.self).prefix { $0.isHexDigit }
            guard let count = Int(size, radix: 16) else {
                throw TestFailure("a chunk has no size")
            }
            body += try take(count: count, socket, deadline)
            _ = try take(until: [13, 10], socket, deadline)
            if count == 0 { return body }
        }
    }

    private func readToEnd(_ socket: TCPSocket, _ deadline: Deadline) throws -> [UInt8] {
        while !socket.isAtEnd { try fill(socket, deadline) }
        defer { buffer = [] }
        self.socket = nil
        return buffer
    }

    /// What comes before `mark`, which is taken too.
    private func take(
        until mark: [UInt8], _ socket: TCPSocket, _ deadline: Deadline
    ) throws -> [UInt8] {
        while true {
            if let at = Self.firstPlace(of: mark, in: buffer) {
                defer { buffer.removeFirst(at + mark.count) }
                return Array(buffer[..<at])
            }
            try fill(socket, deadline)
        }
    }

    private static func firstPlace(of mark: [UInt8], in bytes: [UInt8]) -> Int? {
        bytes.withUnsafeBytes { all in
            guard let start = all.baseAddress else { return nil }
            var at = 0
            while at + mark.count <= all.count {
                let rest = all.count - mark.count + 1 - at
                guard let found = memchr(start + at, Int32(mark[0]), rest) else { return nil }
                at = UnsafeRawPointer(found) - start
                if memcmp(found, mark, mark.count) == 0 { return at }
                at += 1
            }
            return nil
        }
    }

    private func take(
        count: Int, _ socket: TCPSocket, _ deadline: Deadline
    ) throws -> [UInt8] {
        while buffer.count < count { try fill(socket, deadline) }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    private func fill(_ socket: TCPSocket, _ deadline: Deadline) throws {
        guard !socket.isAtEnd else {
            throw TestFailure("the server closed before its answer was whole")
        }
        guard socket.waitToRead(deadline) else { throw TestFailure("no HTTP answer in time") }
        buffer += socket.readAvailable()
    }
}
