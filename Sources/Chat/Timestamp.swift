/// A moment in UTC, to the millisecond: milliseconds since 1970-01-01T00:00:00Z.
///
/// Written as RFC 3339 with three digits (`2026-11-20T10:00:00.000Z`); read with any number of
/// fraction digits and any offset, cut to the millisecond.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// Milliseconds since the epoch; may be negative.
    public var milliseconds: Int64

    /// The moment `milliseconds` after the epoch.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }
}
