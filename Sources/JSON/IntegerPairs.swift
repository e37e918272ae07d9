/// A fast path for arrays of pairs of integers, `[[1,50],[80,96]]`, in the form that nearly every
/// JSON writer produces: digits only, at most one space after a comma. A client may send a thousand
/// pairs in one request; the general reader makes three arrays for each, which would be most of the
/// request's cost.
///
/// Any other form is left to the general reader. So this code need not accept all of JSON; it must
/// only never accept a pair that is not valid.
enum IntegerPairs {
    /// Longer numbers may lie beyond 2^53 and are left to the general reader.
    private static let digits = 16

    /// The pair at `at`, and moves `at` past it; nil if there is no pair in this form, with `at`
    /// unchanged.
    @inline(__always)
    static func next(in text: Span<UInt8>, at: inout Int) -> (first: Int, second: Int)? {
        var here = at
        guard take(UInt8(ascii: "["), in: text, at: &here),
            let first = integer(in: text, at: &here), comma(in: text, at: &here),
            let second = integer(in: text, at: &here), take(UInt8(ascii: "]"), in: text, at: &here)
        else { return nil }
        at = here
        return (first, second)
    }

    /// Skips pairs, and their commas, as long as another element follows.
    /// - Returns: how many.
    static func skip(in text: Span<UInt8>, at: inout Int) -> Int {
        var here = at
        var count = 0
        while next(in: text, at: &here) != nil, comma(in: text, at: &here) {
            at = here
            count += 1
        }
        return count
    }

    @inline(__always)
    static func comma(in text: Span<UInt8>, at: inout Int) -> Bool {
        guard take(UInt8(ascii: ","), in: text, at: &at) else { return false }
        _ = take(UInt8(ascii: " "), in: text, at: &at)
        return true
    }

    @inline(__always)
    private static func take(_ byte: UInt8, in text: Span<UInt8>, at: inout Int) -> Bool {
        guard at < text.count, text[at] == byte else { return false }
        at += 1
        return true
    }

    @inline(__always)
    private static func integer(in text: Span<UInt8>, at: inout Int) -> Int? {
        let start = at
        let end = min(text.count, start + digits + 1)
        var value = 0
        while at < end {
            let digit = text[at] &- UInt8(ascii: "0")
            guard digit <= 9 else { break }
            value = value &* 10 &+ Int(digit)
            at += 1
        }
        let count = at - start
        // A leading zero is not JSON.
        guard count > 0, count <= digits, count == 1 || text[start] != UInt8(ascii: "0") else {
            return nil
        }
        return value
    }
}

extension RawJSON {
    /// The pairs, if the value is an array that holds only pairs of non-negative integers below
    /// 10^16, without signs, fractions, exponents or more white space than one space after a comma;
    /// nil for any other value, which `array` reads.
    public var integerPairs: [(first: Int, second: Int)]? {
        let span = bytes.span
        guard span.count >= 2, span[0] == UInt8(ascii: "[") else { return nil }
        var pairs: [(first: Int, second: Int)] = []
        guard span[1] != UInt8(ascii: "]") else { return span.count == 2 ? pairs : nil }
        // The shortest pair is `[1,2],`.
        pairs.reserveCapacity(min(span.count / 6, 1000))
        var at = 1
        repeat {
            guard let pair = IntegerPairs.next(in: span, at: &at) else { return nil }
            pairs.append(pair)
        } while IntegerPairs.comma(in: span, at: &at)
        return at == span.count - 1 && span[at] == UInt8(ascii: "]") ? pairs : nil
    }
}
