/// A shortage of file descriptors, as it is logged: when it begins, every minute while it lasts,
/// and when it is over. A value, polled once a second.
struct Shortage {
    enum News: Equatable {
        /// The number of refused connections since the last log line.
        case began(Int), goesOn(Int)
        case ended
    }

    /// How long no connection may be refused before the shortage is over, and how often it is
    /// logged.
    static let minute = Duration.seconds(60)

    private var refused = 0
    private var told = 0
    private var toldAt: ContinuousClock.Instant?
    private var lastRefusal: ContinuousClock.Instant?

    /// Whether a connection was refused in the last minute.
    var lasts: Bool { lastRefusal != nil }

    /// - Parameter refused: refused connections since the start.
    mutating func look(refused: Int, at now: ContinuousClock.Instant) -> News? {
        if refused > self.refused {
            self.refused = refused
            lastRefusal = now
        }
        guard let lastRefusal else { return nil }
        guard now - lastRefusal < Self.minute else {
            (self.lastRefusal, toldAt, told) = (nil, nil, refused)
            return .ended
        }
        if let toldAt, now - toldAt < Self.minute { return nil }
        let count = refused - told
        let isFirst = toldAt == nil
        (told, toldAt) = (refused, now)
        return isFirst ? .began(count) : .goesOn(count)
    }
}
