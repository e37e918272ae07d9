import Chat

/// The current time of an engine, shared by all its parts. Each call into the engine sets it.
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
