/// One request of the HTTP side, whole: head and body. The path and the query are as they came,
/// percent-encoding and all, because a decoded path no longer tells a slash of an id from a slash
/// between segments.
package struct HTTPRequest: Sendable {
    /// The name of the listener that it came in by.
    package var listener: String
    package var method: HTTPMethod
    /// Begins with "/" (or is "*", for OPTIONS).
    package var path: String
    /// What follows the "?", without it.
    package var query: String?
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// The peer's address, without its port.
    package var remoteAddress: String
    package var isSecure: Bool
}

/// A request to become a WebSocket.
package struct UpgradeRequest: Sendable {
    /// The name of the listener that it came in by.
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
    /// Answered instead of the 101; the connection closes after it.
    case refuse(HTTPResponse)
}

/// The methods that are answered. Others get 405 from the server itself.
package enum HTTPMethod: String, Sendable, Hashable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"
}

/// The fields of a request, looked up by name in any case.
package struct HTTPHeaders: Sendable, Hashable {
    /// Names in lower case, in the order in which they came.
    package private(set) var fields: [(name: String, value: String)] = []

    package init() {}

    /// The value of a field; several of one name are joined with ", ", as RFC 9110 5.3 has it.
    package subscript(name: String) -> String? {
        let name = name.lowercased()
        var value: String?
        for field in fields where field.name == name {
            value = value.map { "\($0), \(field.value)" } ?? field.value
        }
        return value
    }

    /// How often a field came.
    func count(of name: String) -> Int {
        fields.count { $0.name == name }
    }

    /// Whether a comma-separated field holds a word, in any case.
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
