import JSON

/// How deep an application's values may nest. The JSON reader accepts 64 levels, and an
/// application's value is sent inside others: a message is four levels deep in an event, a list of
/// conversations with their last messages five. A value at the reader's own limit would make events
/// that no client can read.
package enum Nesting {
    /// The most levels of arrays and objects in one application value.
    package static let limit = 32

    /// Whether `value`, which must be valid, is within the limit.
    package static func isKept(by value: RawJSON) -> Bool {
        // Each level has two brackets.
        guard value.bytes.count > 2 * limit else { return true }
        var depth = 0
        var isInString = false
        var isEscaped = false
        for byte in value.bytes {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = true
            case UInt8(ascii: "\""): isInString.toggle()
            case _ where isInString: break
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > limit { return false }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return true
    }

    /// Whether the values of all `members` are within the limit.
    package static func isKept(by members: [JSONMember]) -> Bool {
        members.allSatisfy { isKept(by: $0.value) }
    }
}
