/// One complete HTTP request: head and body. The path and the query stay percent-encoded, because a
/// decoded path no longer tells a slash in an id from a slash between segments.
package struct HTTPRequest: Sendable {
    /// The name of the listener that received it.
    package var listener: String
    package var method: HTTPMethod
    /// Begins with "/" (or is "*", for OPTIONS).
    package var path: String
    /// The part after the "?".
    package var query: String?
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// The peer's address, without its port.
    package var remoteAddress: String
    package var isSecure: Bool
}

/// A request to become a WebSocket.
package struct UpgradeRequest: Sendable {
    /// The name of the listener that received it.
    package var listener: String
    package var path: String
    package var query: String?
    package var headers: HTTPHeaders
    /// The peer's address, without its port.
    package var remoteAddress: String
    package var isSecure: Bool
}

package enum UpgradeDecision: Sendable {
    case accept
    /// Answers with this instead of the 101, and closes the connection.
    case refuse(HTTPResponse)
}

/// The supported methods. The server itself answers others with 405.
package enum HTTPMethod: String, Sendable, Hashable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"
}

/// The header fields of a request; lookup ignores case.
package struct HTTPHeaders: Sendable, Hashable {
    /// Names in lower case, in the order of the request.
    package private(set) var fields: [(name: String, value: String)] = []

    package init() {}

    /// The value of a field; several of one name are joined with ", ", as in RFC 9110 5.3.
    package subscript(name: String) -> String? {
        let name = name.lowercased()
        var value: String?
        for field in fields where field.name == name {
            value = value.map { "\($0), \(field.value)" } ?? field.value
        }
        return value
    }

    /// How many fields have this name.
    func count(of name: String) -> Int {
        fields.count { $0.name == name }
    }

    /// Whether a comma-separated field contains a word; ignores case.
    func contains(_ word: String, in name: String) -> Bool {
        guard let value = self[name] else { return false }
        return value.split(separator: ",").contains {
            $0.trimmed.lowercased() == word
        }
    }

    mutating func append(name: String, value: String) {
        fields.append((name, value))
    }

    package static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        left.fields.elementsEqual(right.fields) { $0 == $1 }
    }

    package func hash(into hasher: inout Hasher) {
        for field in fields {
            hasher.combine(field.name)
            hasher.combine(field.value)
        }
    }
}

extension Substring {
    /// Without spaces and tabs at both ends.
    var trimmed: Substring {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let head = drop(while: isSpace)
        guard let last = head.lastIndex(where: { !isSpace($0) }) else { return head.prefix(0) }
        return head[...last]
    }
}
