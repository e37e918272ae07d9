import JSON

/// How deep the values of an application may nest. A reader of JSON takes 64 levels, and what an
/// application sends goes on inside others: a message lies four levels deep in an event, a list of
/// conversations with their last messages five. A value that came in at the reader's own limit
/// would make events that no client can read.
package enum Nesting {
    /// The levels of arrays and objects that one value of an application may have.
    package static let limit = 32

    /// Whether `value`, which is valid, keeps the limit.
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

    /// Whether the values of all `members` keep the limit.
    package static func isKept(by members: [JSONMember]) -> Bool {
        members.allSatisfy { isKept(by: $0.value) }
    }
}
