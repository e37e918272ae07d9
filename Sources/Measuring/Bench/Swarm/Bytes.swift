import CLinux
import Glibc

/// The operations on received bytes that limit the generator's speed, delegated to the C library.
enum Bytes {
    /// Whether both have the same bytes.
    static func areEqual(_ one: Span<UInt8>, _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        return one.withUnsafeBytes { one in
            other.withUnsafeBytes { other in
                guard let left = one.baseAddress, let right = other.baseAddress else { return true }
                return memcmp(left, right, one.count) == 0
            }
        }
    }

    /// The index of the next `pattern`, at or after `start`.
    static func find(_ pattern: Pattern, in text: Span<UInt8>, from start: Int = 0) -> Int? {
        text.withUnsafeBytes { text in
            pattern.bytes.withUnsafeBytes { pattern in
                guard let base = text.baseAddress, let mark = pattern.baseAddress,
                    start < text.count,
                    let found = memmem(base + start, text.count - start, mark, pattern.count)
                else { return nil }
                return UnsafeRawPointer(found) - base
            }
        }
    }

    /// How often `pattern` occurs in `text`.
    static func count(of pattern: Pattern, in text: Span<UInt8>) -> Int {
        var count = 0
        var at = 0
        while let found = find(pattern, in: text, from: at) {
            count += 1
            at = found + pattern.count
        }
        return count
    }

    /// A copy that outlives the buffer.
    static func copy(_ text: Span<UInt8>) -> [UInt8] {
        text.withUnsafeBufferPointer { Array($0) }
    }

    /// The number whose digits begin at `start`; nil if there is none.
    static func number(in text: Span<UInt8>, at start: Int) -> Int? {
        var value = 0
        var at = start
        while at < text.count, at < start + 18, text[at] &- 48 < 10 {
            value = value * 10 + Int(text[at] - 48)
            at += 1
        }
        return at == start ? nil : value
    }
}

/// A byte pattern to search for in frames.
struct Pattern: Sendable {
    fileprivate let bytes: [UInt8]

    init(_ text: String) { bytes = Array(text.utf8) }

    var count: Int { bytes.count }
}
