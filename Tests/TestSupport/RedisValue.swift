/// What Redis answers to a command (RESP 2).
package enum RedisValue: Sendable, Equatable {
    case bytes([UInt8])
    case status(String)
    case error(String)
    case integer(Int)
    case list([RedisValue])
    case none

    package var bytes: [UInt8]? {
        switch self {
        case .bytes(let bytes): bytes
        case .status(let text): Array(text.utf8)
        default: nil
        }
    }

    package var string: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    /// A number, or a text that is one.
    package var int: Int? {
        if case .integer(let number) = self { number } else { string.flatMap { Int($0) } }
    }

    package var elements: [RedisValue] {
        if case .list(let elements) = self { elements } else { [] }
    }
}

/// Reads a reply from the bytes that have come so far.
struct RedisValueReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The next value, nil while it is not whole.
    ///
    /// - Throws: `TestFailure` where the bytes are no reply.
    mutating func next() throws -> RedisValue? {
        guard let end = bytes[place...].firstIndex(of: UInt8(ascii: "\n")), end > place + 1 else {
            return nil
        }
        let kind = bytes[place]
        let line = String(decoding: bytes[place + 1..<end - 1], as: UTF8.self)
        place = end + 1
        switch kind {
        case UInt8(ascii: "+"): return .status(line)
        case UInt8(ascii: "-"): return .error(line)
        case UInt8(ascii: ":"): return .integer(try Self.number(line))
        case UInt8(ascii: "$"): return take(try Self.number(line))
        case UInt8(ascii: "*"): return try elements(try Self.number(line))
        default: throw TestFailure("no reply of Redis begins with byte \(kind)")
        }
    }

    private static func number(_ line: String) throws -> Int {
        guard let number = Int(line) else { throw TestFailure("a length or number is none") }
        return number
    }

    private mutating func take(_ length: Int) -> RedisValue? {
        guard length >= 0 else { return RedisValue.none }
        guard bytes.count >= place + length + 2 else { return nil }
        defer { place += length + 2 }
        return .bytes(Array(bytes[place..<place + length]))
    }

    private mutating func elements(_ count: Int) throws -> RedisValue? {
        guard count >= 0 else { return RedisValue.none }
        var elements: [RedisValue] = []
        for _ in 0..<count {
            guard let element = try next() else { return nil }
            elements.append(element)
        }
        return .list(elements)
    }
}
