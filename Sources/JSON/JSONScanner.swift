/// Scans one JSON text and checks every byte of it: the grammar of RFC 8259, UTF-8, escapes,
/// surrogate pairs, nesting.
///
/// The scanner is only a position; each call gets the text as a span, so that no pointer is ever
/// kept. It builds nothing: a caller that wants a value takes the bytes between two positions. All
/// reading of this target goes through it, so it defines what counts as JSON here. It refuses an
/// array or object at level 65, because the code that descends into values is recursive.
struct JSONScanner {
    /// The maximum nesting of arrays and objects.
    static let depthLimit = 64

    /// A string of the text, without its quotation marks.
    struct StringToken {
        var start: Int
        var end: Int
        /// Whether it holds a backslash; if not, its bytes are its value.
        var isEscaped: Bool
    }

    /// The offset of the next byte.
    private(set) var at = 0
    /// How many elements the array has that ended last.
    private(set) var elements = 0
    /// The most arrays and objects around anything since this was set, the outermost included.
    var deepest = 0

    /// A scanner that begins at this offset.
    init(at offset: Int = 0) { at = offset }

    private func failure(_ reason: String) -> JSONError { JSONError(offset: at, reason: reason) }

    /// Skips white space.
    mutating func skipSpace(in text: Span<UInt8>) {
        while at < text.count {
            switch text[at] {
            case 0x20, 0x0A, 0x0D, 0x09: at += 1
            default: return
            }
        }
    }

    /// The next byte; nil at the end.
    func peek(in text: Span<UInt8>) -> UInt8? { at < text.count ? text[at] : nil }

    /// Skips the white space at the end of the text.
    /// - Throws: if anything else follows.
    mutating func finish(in text: Span<UInt8>) throws(JSONError) {
        skipSpace(in: text)
        if at < text.count { throw failure("something follows the value") }
    }

    /// Scans one value, without white space before it.
    /// - Parameter depth: the number of arrays and objects around it.
    mutating func value(in text: Span<UInt8>, depth: Int) throws(JSONError) {
        guard let byte = peek(in: text) else {
            throw failure("the text ends where a value is expected")
        }
        switch byte {
        case UInt8(ascii: "\""): _ = try string(in: text)
        case UInt8(ascii: "{"): try object(in: text, depth: depth)
        case UInt8(ascii: "["): try array(in: text, depth: depth)
        case UInt8(ascii: "t"): try word(Self.true, count: 4, in: text)
        case UInt8(ascii: "f"): try word(Self.alse, count: 5, in: text)
        case UInt8(ascii: "n"): try word(Self.null, count: 4, in: text)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number(in: text)
        default: throw failure("no value begins with this byte")
        }
    }

    // The last four bytes of the three literals, as a little-endian number.
    private static let `true`: UInt32 = 0x6575_7274
    private static let alse: UInt32 = 0x6573_6C61
    private static let null: UInt32 = 0x6C6C_756E

    /// Scans a literal of `count` bytes whose first byte is known.
    private mutating func word(
        _ tail: UInt32, count: Int, in text: Span<UInt8>
    ) throws(JSONError) {
        guard text.count - at >= count,
            UInt32(
                littleEndian: text.bytes.unsafeLoadUnaligned(
                    fromByteOffset: at + count - 4, as: UInt32.self)) == tail
        else { throw failure("a word that is none of true, false and null") }
        at += count
    }

    // MARK: Arrays and objects

    private mutating func object(in text: Span<UInt8>, depth: Int) throws(JSONError) {
        var more = try enter(closing: UInt8(ascii: "}"), depth: depth, in: text)
        while more {
            _ = try key(in: text)
            try value(in: text, depth: depth + 1)
            more = try next(closing: UInt8(ascii: "}"), in: text)
        }
    }

    private mutating func array(in text: Span<UInt8>, depth: Int) throws(JSONError) {
        var more = try enter(closing: UInt8(ascii: "]"), depth: depth, in: text)
        // A pair is itself an array.
        let mayHoldPairs = depth + 1 < Self.depthLimit
        var count = 0
        while more {
            if mayHoldPairs, peek(in: text) == UInt8(ascii: "[") {
                let pairs = IntegerPairs.skip(in: text, at: &at)
                if pairs > 0 { deepest = max(deepest, depth + 2) }
                count += pairs
                skipSpace(in: text)
            }
            try value(in: text, depth: depth + 1)
            count += 1
            more = try next(closing: UInt8(ascii: "]"), in: text)
        }
        elements = count
    }

    /// Scans an opening bracket. True: the first element is next. False: the array or object was
    /// empty, and its closing bracket was scanned too.
    mutating func enter(
        closing: UInt8, depth: Int, in text: Span<UInt8>
    ) throws(JSONError) -> Bool {
        guard depth < Self.depthLimit else {
            throw failure("nested deeper than \(Self.depthLimit) levels")
        }
        deepest = max(deepest, depth + 1)
        at += 1
        skipSpace(in: text)
        guard peek(in: text) == closing else { return true }
        at += 1
        return false
    }

    /// Scans from the end of an element to the next one (true), or past the closing bracket
    /// (false).
    mutating func next(closing: UInt8, in text: Span<UInt8>) throws(JSONError) -> Bool {
        skipSpace(in: text)
        switch peek(in: text) {
        case UInt8(ascii: ","):
            at += 1
            skipSpace(in: text)
            return true
        case closing:
            at += 1
            return false
        default:
            throw failure("neither a comma nor the end follows an element")
        }
    }

    /// Scans the name of a member and the colon after it.
    mutating func key(in text: Span<UInt8>) throws(JSONError) -> StringToken {
        guard peek(in: text) == UInt8(ascii: "\"") else { throw failure("a member has no name") }
        let token = try string(in: text)
        skipSpace(in: text)
        guard peek(in: text) == UInt8(ascii: ":") else {
            throw failure("no colon follows a member's name")
        }
        at += 1
        skipSpace(in: text)
        return token
    }

    // MARK: Numbers

    private mutating func number(in text: Span<UInt8>) throws(JSONError) {
        if peek(in: text) == UInt8(ascii: "-") { at += 1 }
        if peek(in: text) == UInt8(ascii: "0") {
            at += 1
            if let byte = peek(in: text), isDigit(byte) {
                throw failure("a number begins with a zero that does not count")
            }
        } else {
            try digits(in: text)
        }
        if peek(in: text) == UInt8(ascii: ".") {
            at += 1
            try digits(in: text)
        }
        if let byte = peek(in: text), byte | 0x20 == UInt8(ascii: "e") {
            at += 1
            if let sign = peek(in: text), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
                at += 1
            }
            try digits(in: text)
        }
    }

    private mutating func digits(in text: Span<UInt8>) throws(JSONError) {
        let start = at
        while at < text.count, isDigit(text[at]) { at += 1 }
        if at == start { throw failure("a number lacks a digit") }
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    // MARK: Strings

    /// Scans a string with both quotation marks.
    mutating func string(in text: Span<UInt8>) throws(JSONError) -> StringToken {
        at += 1
        var token = StringToken(start: at, end: at, isEscaped: false)
        while true {
            at = PlainRun.end(in: text, from: at, onlyASCII: true)
            guard at < text.count else { throw failure("a string does not end") }
            switch text[at] {
            case UInt8(ascii: "\""):
                token.end = at
                at += 1
                return token
            case UInt8(ascii: "\\"):
                token.isEscaped = true
                try escape(in: text)
            case 0..<0x20:
                throw failure("a control character in a string")
            default:
                try sequence(in: text)
            }
        }
    }

    private mutating func escape(in text: Span<UInt8>) throws(JSONError) {
        at += 1
        switch peek(in: text) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            at += 1
        case UInt8(ascii: "u"):
            let unit = try hexadecimal(in: text)
            if unit & 0xFC00 == 0xDC00 { throw failure("half a surrogate pair") }
            guard unit & 0xFC00 == 0xD800 else { return }
            guard peek(in: text) == UInt8(ascii: "\\") else {
                throw failure("half a surrogate pair")
            }
            at += 1
            guard peek(in: text) == UInt8(ascii: "u"),
                try hexadecimal(in: text) & 0xFC00 == 0xDC00
            else { throw failure("half a surrogate pair") }
        default:
            throw failure("an unknown escape in a string")
        }
    }

    /// Scans `uXXXX`.
    private mutating func hexadecimal(in text: Span<UInt8>) throws(JSONError) -> UInt16 {
        guard text.count - at >= 5 else { throw failure("a \\u escape lacks a digit") }
        var unit: UInt16 = 0
        for index in at + 1...at + 4 {
            guard let digit = hexadecimalValue(text[index]) else {
                throw failure("a \\u escape lacks a digit")
            }
            unit = unit << 4 | digit
        }
        at += 5
        return unit
    }

    /// Scans one character of two to four bytes: table 3-7 of the Unicode standard.
    private mutating func sequence(in text: Span<UInt8>) throws(JSONError) {
        let lead = text[at]
        let count: Int
        switch lead {
        case 0xC2...0xDF: count = 2
        case 0xE0...0xEF: count = 3
        case 0xF0...0xF4: count = 4
        default: throw failure("a string is not UTF-8")
        }
        guard text.count - at >= count else { throw failure("a string is not UTF-8") }
        let second = text[at + 1]
        let isAllowed =
            switch lead {
            case 0xE0: second >= 0xA0 && second <= 0xBF  // no overlong form
            case 0xED: second >= 0x80 && second <= 0x9F  // no surrogate
            case 0xF0: second >= 0x90 && second <= 0xBF  // no overlong form
            case 0xF4: second >= 0x80 && second <= 0x8F  // nothing above U+10FFFF
            default: second & 0xC0 == 0x80
            }
        guard isAllowed else { throw failure("a string is not UTF-8") }
        for index in at + 2..<at + count where text[index] & 0xC0 != 0x80 {
            throw failure("a string is not UTF-8")
        }
        at += count
    }
}

/// The value of one hexadecimal digit.
func hexadecimalValue(_ byte: UInt8) -> UInt16? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
}
