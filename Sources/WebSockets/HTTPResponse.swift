import Glibc
import JSON
import Wire

/// One HTTP response. The server adds length, date and connection; all other headers are in
/// `headers`.
package struct HTTPResponse: Sendable, Hashable {
    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package var status: Int
    package var headers: [Field]
    package var body: [UInt8]

    package init(status: Int, headers: [Field] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A refusal by the server itself, in the form of every error of the gateway (`protocol.md` 7).
    /// `words` are a sentence of this program, without characters that JSON would escape.
    init(status: Int, refusal words: String) {
        let reason: RequestError.Reason =
            switch status {
            case 405: .httpMethodNotAllowed
            case 413: .limitBody
            case 426: .upgradeNeeded
            case 431: .headTooLong
            default: .malformed
            }
        self.init(status: status, RequestError(reason, words))
    }

    private init(status: Int, _ error: RequestError) {
        var json = JSONWriter()
        json.beginObject()
        json.member("error", error: error)
        json.endObject()
        self.init(
            status: status, headers: [Field("Content-Type", "application/json")], body: json.bytes)
    }

    /// The response when `ServerLimits.httpConnections` requests are in flight already.
    static func tooManyRequests(_ limits: ServerLimits) -> HTTPResponse {
        let error = RequestError(
            .limitHTTPConnections,
            "limits.http_connections: \(limits.httpConnections) requests are under way, no more"
                + " are accepted at once", after: 1000)
        var response = HTTPResponse(status: 503, error)
        response.headers.append(Field("Retry-After", "1"))
        return response
    }

    /// Whether a response with this status has a body (RFC 9110 6.4.1).
    var allowsBody: Bool { status >= 200 && status != 204 && status != 304 }

    /// Status line and headers, including the empty line.
    ///
    /// - Parameters:
    ///   - connection: the value of the Connection field; nil to omit it.
    ///   - isEndless: whether the body comes in pieces, and ends with the connection.
    func head(date: String, connection: String?, isEndless: Bool = false) -> [UInt8] {
        var text = "HTTP/1.1 \(status) \(Self.reason(status))\r\nDate: \(date)\r\n"
        if let connection { text += "Connection: \(connection)\r\n" }
        // A value with a line end could inject headers.
        for field in headers where field.isSound {
            text += "\(field.name): \(field.value)\r\n"
        }
        if allowsBody, !isEndless { text += "Content-Length: \(body.count)\r\n" }
        text += "\r\n"
        return Array(text.utf8)
    }

    static func reason(_ status: Int) -> String {
        switch status {
        case 101: "Switching Protocols"
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 417: "Expectation Failed"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Status"
        }
    }
}

extension HTTPResponse.Field {
    var isSound: Bool {
        !name.isEmpty && name.utf8.allSatisfy(HTTPRequestHead.isTokenByte)
            && value.utf8.allSatisfy(HTTPRequestHead.isValueByte)
    }
}

/// The Date field, formatted once a second. Owned by the server, used on the loop.
struct DateField {
    private var second: time_t = -1
    private var text = ""

    mutating func value(at now: time_t) -> String {
        if now == second { return text }
        second = now
        var now = now
        var parts = tm()
        gmtime_r(&now, &parts)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        text = """
            \(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \
            \(1900 + parts.tm_year) \(two(parts.tm_hour)):\(two(parts.tm_min)):\
            \(two(parts.tm_sec)) GMT
            """
        return text
    }
}
