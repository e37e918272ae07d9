/// The pings of a feed's connection: the answer to one shows that everything published before it
/// has arrived. A value; its link keeps it on one thread.
struct FeedPing {
    /// When the newest answered ping was sent.
    private(set) var provenAt = ContinuousClock.now
    private(set) var sentAt: ContinuousClock.Instant?
    /// The last command for subscriptions that was sent before the ping, and is answered before.
    private var command = 0

    /// A connection begins.
    mutating func begin() { self = FeedPing() }

    mutating func sent(behind command: Int, at now: ContinuousClock.Instant) {
        sentAt = now
        self.command = command
    }

    mutating func answered() {
        if let sentAt { provenAt = sentAt }
        sentAt = nil
    }

    /// Whether the next answer is this ping's, and to none of the subscriptions.
    func isNext(after subscriptions: Subscriptions) -> Bool {
        sentAt != nil && !subscriptions.isAwaited(command)
    }
}
