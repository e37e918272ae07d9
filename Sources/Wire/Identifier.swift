import JSON

/// The rules for an id of a conversation, a message or a user: `protocol.md` 6.
package enum Identifier {
    /// The longest id, in bytes of UTF-8.
    package static let limit = 255
    /// The rule in words, for errors.
    package static let accepted = "1–255 bytes of UTF-8 without control characters"
    /// The rule for keys in words, for errors.
    package static let acceptedKey = "1–64 bytes of UTF-8 without control characters"

    /// The longest key of a reaction, in bytes of UTF-8.
    static let keyLimit = 64

    /// Whether `text` can be an id.
    package static func isValid(_ text: String) -> Bool { isValid(text, upTo: limit) }

    /// Whether `text` can be the key of a reaction.
    package static func isKey(_ text: String) -> Bool { isValid(text, upTo: keyLimit) }

    /// Control characters are those of Unicode's category Cc: below U+0020, and U+007F to U+009F.
    private static func isValid(_ text: String, upTo limit: Int) -> Bool {
        let bytes = text.utf8
        guard !bytes.isEmpty, bytes.count <= limit else { return false }
        return bytes.reading { bytes in
            var before: UInt8 = 0
            for index in bytes.indices {
                let byte = bytes[index]
                // U+0080 to U+009F are C2 80 to C2 9F.
                let isHighControl = before == 0xC2 && byte < 0xA0
                if byte < 0x20 || byte == 0x7F || isHighControl { return false }
                before = byte
            }
            return true
        }
    }
}
