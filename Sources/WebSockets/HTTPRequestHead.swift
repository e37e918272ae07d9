/// The head of an HTTP/1.x request: request line and headers, parsed strictly by RFC 9112. Refuses
/// everything that two parsers could interpret differently (a bare line feed, a folded header, two
/// lengths, a length beside chunks), so that a proxy in front and this server never disagree about
/// the end of a request (request smuggling). Pure: bytes in, value or refusal out.
package struct HTTPRequestHead {
    /// The answer to a refused head; the connection closes after it.
    package struct Refusal: Error, Equatable {
        package var status: Int
        package var reason: String

        init(_ status: Int, _ reason: String) {
            self.status = status
            self.reason = reason
        }
    }

    package var method: String
    package var path: String
    package var query: String?
    package var headers = HTTPHeaders()
    /// HTTP/1.1, not 1.0.
    package var isCurrent: Bool
    package var contentLength = 0
    /// Whether the body is chunked, and so defines its own end.
    package var isChunked = false

    /// Whether the client keeps the connection for another request.
    package var keepsAlive: Bool {
        isCurrent
            ? !headers.contains("close", in: "connection")
            : headers.contains("keep-alive", in: "connection")
    }

    /// Whether the client waits for a 100 before it sends the body.
    package var expectsContinue: Bool {
        isCurrent && headers["expect"]?.lowercased() == "100-continue"
    }

    /// Whether this is a WebSocket handshake.
    package var wantsWebSocket: Bool {
        method == "GET" && isCurrent && headers.contains("websocket", in: "upgrade")
            && headers.contains("upgrade", in: "connection")
    }

    /// The end of the head in `bytes` (after its empty line); nil if it is incomplete.
    ///
    /// - Parameter searched: how many bytes an earlier call has searched.
    package static func end(in bytes: [UInt8], searched: Int) -> Int? {
        guard bytes.count >= 4 else { return nil }
        var index = max(3, searched - 3)
        while index < bytes.count {
            if bytes[index] == 0x0A, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A,
                bytes[index - 3] == 0x0D
            {
                return index + 1
            }
            index += 1
        }
        return nil
    }

    /// Parses a head that `end(in:searched:)` has found.
    ///
    /// - Parameter needsHost: whether HTTP/1.1 requests must have a `Host`, as the standard
    ///   requires.
    /// - Throws: `Refusal` if it is not a valid request, or not an accepted one.
    package init(
        _ bytes: ArraySlice<UInt8>, fieldLimit: Int, needsHost: Bool = true
    ) throws(Refusal) {
        var lines = Lines(rest: bytes)
        guard let first = try lines.next() else { throw Refusal(400, "no request line") }
        (method, path, query, isCurrent) = try Self.requestLine(first)
        while let line = try lines.next() {
            guard headers.fields.count < fieldLimit else {
                throw Refusal(431, "more than \(fieldLimit) header fields")
            }
            try readField(line)
        }
        try readLength()
        let hosts = headers.count(of: "host")
        guard hosts == 1 || hosts == 0 && !(needsHost && isCurrent) else {
            throw Refusal(400, "a request needs one Host field")
        }
        if let expectation = headers["expect"], expectation.lowercased() != "100-continue" {
            throw Refusal(417, "Expect: only 100-continue is understood")
        }
    }

    private mutating func readField(_ line: ArraySlice<UInt8>) throws(Refusal) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            throw Refusal(400, "a header line without a colon")
        }
        // No space before the colon, and none at the start of the line, which would be a folded
        // header: servers interpret both differently.
        let name = line[..<colon]
        guard !name.isEmpty, name.allSatisfy(Self.isTokenByte) else {
            throw Refusal(400, "a header name that is not a token")
        }
        var value = line[(colon + 1)...]
        while let byte = value.first, byte == 0x20 || byte == 0x09 { value = value.dropFirst() }
        while let byte = value.last, byte == 0x20 || byte == 0x09 { value = value.dropLast() }
        guard value.allSatisfy(Self.isValueByte) else {
            throw Refusal(400, "a header value with a control character")
        }
        let lower = name.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
        headers.append(
            name: String(decoding: lower, as: UTF8.self),
            value: String(decoding: value, as: UTF8.self))
    }

    private mutating func readLength() throws(Refusal) {
        if headers.count(of: "transfer-encoding") > 0 {
            guard isCurrent, headers["transfer-encoding"]?.lowercased() == "chunked" else {
                throw Refusal(400, "Transfer-Encoding: only chunked is accepted, in HTTP/1.1")
            }
            guard headers.count(of: "content-length") == 0 else {
                throw Refusal(400, "Transfer-Encoding beside Content-Length")
            }
            isChunked = true
            return
        }
        guard headers.count(of: "content-length") <= 1 else {
            throw Refusal(400, "more than one Content-Length")
        }
        guard let text = headers["content-length"] else { return }
        // Swift accepts "+5" and "-0" as numbers; RFC 9110 does not.
        guard text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let length = Int(text) else {
            throw Refusal(400, "Content-Length is not a number of bytes")
        }
        contentLength = length
    }

    private static func requestLine(
        _ line: ArraySlice<UInt8>
    ) throws(Refusal) -> (method: String, path: String, query: String?, isCurrent: Bool) {
        let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(isTokenByte) else {
            throw Refusal(400, "not a request line")
        }
        let isCurrent: Bool
        switch String(decoding: parts[2], as: UTF8.self) {
        case "HTTP/1.1": isCurrent = true
        case "HTTP/1.0": isCurrent = false
        case let version where version.hasPrefix("HTTP/"):
            throw Refusal(505, "only HTTP/1.1 and HTTP/1.0 are spoken")
        default: throw Refusal(400, "not a request line")
        }
        guard parts[1].allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw Refusal(400, "a target with bytes that need percent-encoding")
        }
        let method = String(decoding: parts[0], as: UTF8.self)
        let (path, query) = try target(String(decoding: parts[1], as: UTF8.self), method: method)
        return (method, path, query, isCurrent)
    }

    /// Splits a target in origin form ("/a?b"), absolute form ("http://host/a?b") or, for OPTIONS,
    /// asterisk form.
    private static func target(
        _ text: String, method: String
    ) throws(Refusal) -> (path: String, query: String?) {
        if text == "*", method == "OPTIONS" { return ("*", nil) }
        var rest = Substring(text)
        let lower = text.lowercased()
        for scheme in ["http://", "https://"] where lower.hasPrefix(scheme) {
            rest = rest.dropFirst(scheme.count)
            rest = rest.drop { $0 != "/" && $0 != "?" }
            if !rest.hasPrefix("/") { rest = "/" + rest }
        }
        guard rest.hasPrefix("/") else { throw Refusal(400, "a target that is not a path") }
        rest = rest.prefix { $0 != "#" }
        guard let mark = rest.firstIndex(of: "?") else { return (String(rest), nil) }
        return (String(rest[..<mark]), String(rest[rest.index(after: mark)...]))
    }

    /// A byte of a token of RFC 9110 5.6.2.
    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    /// A byte of a field value: no control character except the tab.
    static func isValueByte(_ byte: UInt8) -> Bool {
        byte == 0x09 || byte >= 0x20 && byte != 0x7F
    }

    /// The lines of a head, each without its CR LF, up to the empty one.
    private struct Lines {
        var rest: ArraySlice<UInt8>

        mutating func next() throws(Refusal) -> ArraySlice<UInt8>? {
            guard let feed = rest.firstIndex(of: 0x0A), feed > rest.startIndex,
                rest[feed - 1] == 0x0D
            else { throw Refusal(400, "a line that does not end in CR LF") }
            let line = rest[rest.startIndex..<feed - 1]
            rest = rest[(feed + 1)...]
            return line.isEmpty ? nil : line
        }
    }
}
