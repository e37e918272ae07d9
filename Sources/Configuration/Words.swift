/// Milliseconds, the one unit of time inside the gateway.
package typealias Milliseconds = Int64

/// Sizes and durations as people write them in a configuration: `64KiB`, `30s`, `1m30s`. Reading is
/// exact: a value that would overflow, or a unit with two readings (`KB`), gives nil.
package enum Words {
    private static let sizes: [(unit: String, bytes: Int)] = [
        ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
    ]
    private static let durations: [(unit: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    /// The bytes in `64KiB` or, without a unit, `65536`.
    package static func size(_ text: String) -> Int? {
        let digits = text.prefix(while: \.isASCIIDigit)
        let unit = text[digits.endIndex...]
        guard let number = Int(digits),
            let bytes = unit.isEmpty ? 1 : sizes.first(where: { $0.unit == unit })?.bytes
        else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: bytes)
        return overflow ? nil : product
    }

    /// The milliseconds in `30s`, `1m30s` or `0`. Units go from the largest to the smallest; a
    /// number without a unit is accepted only if it is 0.
    package static func duration(_ text: String) -> Milliseconds? {
        if text == "0" { return 0 }
        var rest = text[...]
        var sum: Int64 = 0
        var from = 0
        while !rest.isEmpty {
            let digits = rest.prefix(while: \.isASCIIDigit)
            rest = rest[digits.endIndex...]
            let unit = rest.prefix { $0.isASCII && $0.isLetter }
            rest = rest[unit.endIndex...]
            guard let number = Int64(digits),
                let at = durations[from...].firstIndex(where: { $0.unit == unit })
            else { return nil }
            from = at + 1
            let (product, tooLarge) = number.multipliedReportingOverflow(
                by: durations[at].milliseconds)
            let (next, overflow) = sum.addingReportingOverflow(product)
            if tooLarge || overflow { return nil }
            sum = next
        }
        return from > 0 ? sum : nil
    }

    /// The form that `size(_:)` reads, in the largest unit that is exact.
    package static func write(size: Int) -> String {
        guard size > 0, let exact = sizes.first(where: { size.isMultiple(of: $0.bytes) }) else {
            return "\(size)B"
        }
        return "\(size / exact.bytes)\(exact.unit)"
    }

    /// The form that `duration(_:)` reads, in the largest unit that is exact.
    package static func write(duration: Milliseconds) -> String {
        guard duration > 0,
            let exact = durations.first(where: { duration.isMultiple(of: $0.milliseconds) })
        else { return "\(duration)s" }
        return "\(duration / exact.milliseconds)\(exact.unit)"
    }
}
