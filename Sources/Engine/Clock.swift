import Chat

/// The moment of what is being decided, for all machines of an engine. The engine sets it with each
/// call that comes in.
final class Clock {
    @exclusivity(unchecked) var now: Timestamp

    init(at now: Timestamp) { self.now = now }
}

extension Timestamp {
    /// The moment `milliseconds` later.
    func adding(_ milliseconds: Int64) -> Timestamp {
        Timestamp(milliseconds: self.milliseconds + milliseconds)
    }
}
