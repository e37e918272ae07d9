/// A `Timestamp` as RFC 3339 text: written in UTC with three fraction digits, always 24 bytes; read
/// with any number of fraction digits and any offset.
extension Timestamp: CustomStringConvertible {
    /// The milliseconds of a day.
    private static let day: Int64 = 86_400_000

    /// As the protocol writes it: `2026-11-20T10:00:00.000Z`.
    public var description: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(24)
        appendRFC3339(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the 24 bytes of `description`. A moment outside of RFC 3339's range is clamped to
    /// `earliest` or `latest`.
    public func appendRFC3339(to bytes: inout [UInt8]) {
        let moment = min(max(self, .earliest), .latest).milliseconds
        let days = (moment >= 0 ? moment : moment - Self.day + 1) / Self.day
        let rest = Int(moment - days * Self.day)
        let date = CivilDate(daysSinceEpoch: Int(days))
        bytes.append(decimal: date.year / 100)
        bytes.append(decimal: date.year % 100)
        bytes.append(UInt8(ascii: "-"))
        bytes.append(decimal: date.month)
        bytes.append(UInt8(ascii: "-"))
        bytes.append(decimal: date.day)
        bytes.append(UInt8(ascii: "T"))
        bytes.append(decimal: rest / 3_600_000)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(decimal: rest / 60_000 % 60)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(decimal: rest / 1_000 % 60)
        bytes.append(UInt8(ascii: "."))
        bytes.append(UInt8(ascii: "0") + UInt8(rest / 100 % 10))
        bytes.append(decimal: rest % 100)
        bytes.append(UInt8(ascii: "Z"))
    }

    /// The moment that an RFC 3339 text names; nil if the text is invalid.
    ///
    /// The calendar is checked (no 30th of February, no hour 24), `t` and `z` may be lower case, an
    /// offset may be from -23:59 to +23:59, and a fraction of any length is cut to milliseconds. A
    /// leap second, `23:59:60` UTC at the end of a month, has no number of its own: it is read as
    /// the last millisecond before it. A moment whose UTC year is not 0000 to 9999 is refused, so
    /// that every moment that was read can be written.
    public init?(_ text: some StringProtocol) {
        self.init(utf8: Array(text.utf8))
    }

    /// The moment that RFC 3339 text in UTF-8 names; nil if it is invalid: see `init(_:)`.
    public init?(utf8 bytes: [UInt8]) {
        var reader = FixedFieldReader(bytes)
        guard let year = reader.number(digits: 4), reader.take(UInt8(ascii: "-")),
            let month = reader.number(digits: 2), reader.take(UInt8(ascii: "-")),
            let day = reader.number(digits: 2), reader.takeLetter(UInt8(ascii: "T")),
            let hour = reader.number(digits: 2), hour < 24, reader.take(UInt8(ascii: ":")),
            let minute = reader.number(digits: 2), minute < 60, reader.take(UInt8(ascii: ":")),
            let second = reader.number(digits: 2), second <= 60,
            let fraction = reader.fraction(),
            let offset = reader.offset(), reader.isAtEnd,
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        let isLeapSecond = second == 60
        let minutes = date.daysSinceEpoch * 1_440 + hour * 60 + minute - offset
        if isLeapSecond {
            guard (minutes + 1) % 1_440 == 0,
                CivilDate(daysSinceEpoch: (minutes + 1) / 1_440).day == 1
            else { return nil }
        }
        let withinMinute = isLeapSecond ? 59_999 : second * 1_000 + fraction
        self.init(milliseconds: Int64(minutes * 60_000 + withinMinute))
        guard .earliest <= self, self <= .latest else { return nil }
    }
}

/// Reads the fields of a date from the front of a text; each method consumes what it names or
/// nothing.
private struct FixedFieldReader {
    private let bytes: [UInt8]
    private var at = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { at == bytes.count }

    mutating func take(_ byte: UInt8) -> Bool {
        guard at < bytes.count, bytes[at] == byte else { return false }
        at += 1
        return true
    }

    /// Takes an ASCII letter, upper case (as given) or lower case.
    mutating func takeLetter(_ letter: UInt8) -> Bool { take(letter) || take(letter | 0x20) }

    /// A number of exactly `count` digits.
    mutating func number(digits count: Int) -> Int? {
        guard bytes.count - at >= count else { return nil }
        var number = 0
        for byte in bytes[at..<at + count] {
            guard let digit = byte.decimalDigit else { return nil }
            number = number * 10 + digit
        }
        at += count
        return number
    }

    /// The milliseconds of `.123456`, truncated; 0 without a fraction; nil for a point without
    /// digits.
    mutating func fraction() -> Int? {
        guard take(UInt8(ascii: ".")) else { return 0 }
        let start = at
        var milliseconds = 0
        var weight = 100
        while at < bytes.count, let digit = bytes[at].decimalDigit {
            milliseconds += digit * weight
            weight /= 10
            at += 1
        }
        return at > start ? milliseconds : nil
    }

    /// The minutes by which local time is ahead of UTC.
    mutating func offset() -> Int? {
        if takeLetter(UInt8(ascii: "Z")) { return 0 }
        let isAhead = take(UInt8(ascii: "+"))
        guard isAhead || take(UInt8(ascii: "-")),
            let hours = number(digits: 2), hours < 24, take(UInt8(ascii: ":")),
            let minutes = number(digits: 2), minutes < 60
        else { return nil }
        return (isAhead ? 1 : -1) * (hours * 60 + minutes)
    }
}

extension UInt8 {
    /// The value of an ASCII digit.
    fileprivate var decimalDigit: Int? {
        UInt8(ascii: "0") <= self && self <= UInt8(ascii: "9") ? Int(self & 0x0F) : nil
    }
}

extension [UInt8] {
    /// Appends a number below 100 as two digits.
    fileprivate mutating func append(decimal number: Int) {
        append(UInt8(ascii: "0") + UInt8(number / 10))
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}
