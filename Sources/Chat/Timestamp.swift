/// A moment in UTC, to the millisecond: milliseconds since 1970-01-01T00:00:00Z, without leap
/// seconds.
///
/// It is a plain value without a clock: the caller passes the present in. `Timestamp+RFC3339.swift`
/// writes and reads it as the protocol does (`2026-11-20T10:00:00.000Z`); the years of this form,
/// 0000 to 9999, lie from `earliest` to `latest`.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// Milliseconds since the epoch; may be negative.
    public var milliseconds: Int64

    /// The moment `milliseconds` after the epoch.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// 0000-01-01T00:00:00.000Z, the first moment that RFC 3339 can name.
    public static let earliest = Timestamp(milliseconds: -62_167_219_200_000)
    /// 9999-12-31T23:59:59.999Z, the last moment that RFC 3339 can name.
    public static let latest = Timestamp(milliseconds: 253_402_300_799_999)

    /// Whether `a` is the earlier moment.
    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }
}
