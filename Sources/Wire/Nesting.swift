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
        let text = value.bytes.span
        var depth = 0
        var at = 0
        while at < text.count {
            switch text[at] {
            case UInt8(ascii: "\""): at = endOfString(at, in: text)
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > limit { return false }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
            at += 1
        }
        return true
    }

    /// Where the string ends that begins here.
    private static func endOfString(_ start: Int, in text: Span<UInt8>) -> Int {
        var at = start + 1
        while at < text.count, text[at] != UInt8(ascii: "\"") {
            at += text[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        return at
    }

    /// Whether the values of all `members` are within the limit.
    package static func isKept(by members: [JSONMember]) -> Bool {
        members.allSatisfy { isKept(by: $0.value) }
    }
}
