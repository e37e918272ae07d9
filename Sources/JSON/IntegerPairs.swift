/// Arrays of pairs of integers, `[[1,50],[80,96]]`, in the form in which nearly every writer of
/// JSON puts them: digits alone, at most one space behind a comma. A client may send a thousand in
/// one request; one value after the other that is three arrays for each pair, and most of what the
/// request costs.
///
/// Whatever has another form is left to the general reader. So this one need not know all of JSON,
/// only take nothing for a pair that is none.
enum IntegerPairs {
    /// Numbers of more digits may lie beyond 2^53, and are the general reader's.
    private static let digits = 16

    /// The pair at `at`, which then lies behind it; nil, and `at` as it was, if none is there in
    /// this form.
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

    /// Steps over the pairs at `at` behind which another element follows, and their commas.
    static func skip(in text: Span<UInt8>, at: inout Int) {
        var here = at
        while next(in: text, at: &here) != nil, comma(in: text, at: &here) { at = here }
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
        // A zero in front does not count, and is not JSON.
        guard count > 0, count <= digits, count == 1 || text[start] != UInt8(ascii: "0") else {
            return nil
        }
        return value
    }
}

extension RawJSON {
    /// The pairs, if the value is an array of nothing but pairs of integers below 10^16, none
    /// negative, and written without signs, fractions, exponents or more space than one behind a
    /// comma; nil for any other, which `array` reads.
    public var integerPairs: [(first: Int, second: Int)]? {
        let span = bytes.span
        guard span.count >= 2, span[0] == UInt8(ascii: "[") else { return nil }
        var pairs: [(first: Int, second: Int)] = []
        guard span[1] != UInt8(ascii: "]") else { return span.count == 2 ? pairs : nil }
        // No pair takes less than `[1,2],`.
        pairs.reserveCapacity(min(span.count / 6, 1000))
        var at = 1
        repeat {
            guard let pair = IntegerPairs.next(in: span, at: &at) else { return nil }
            pairs.append(pair)
        } while IntegerPairs.comma(in: span, at: &at)
        return at == span.count - 1 && span[at] == UInt8(ascii: "]") ? pairs : nil
    }
}
