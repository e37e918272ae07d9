/// When a link whose connection broke tries again: after a backoff, or as soon as there is a sign
/// that the server is back. A value; its link keeps it on one thread.
struct Retries {
    /// How often a waiting link looks for signs that the server is back.
    static let glance = Duration.milliseconds(100)
    /// How often it looks whether the sentinels have answered.
    private static let moment = Duration.milliseconds(10)

    private let link: LinkPair.Link
    private let base: Duration
    private var backoff: Backoff
    private var nextTry = ContinuousClock.now
    private var tried = ContinuousClock.now
    /// The last try found no master.
    private var lacksMaster = false

    init(of link: LinkPair.Link, _ options: RedisOptions) {
        self.link = link
        base = options.backoffBase
        backoff = Backoff(
            base: options.backoffBase, limit: min(options.backoffMax, Backoff.longest))
    }

    /// Whether to try now: the backoff is over, or another link has reached the server.
    func isDue(_ links: LinkPair, _ master: any MasterSource) -> Bool {
        let now = ContinuousClock.now
        if now >= nextTry { return !master.isUndecided(at: now) }
        guard now >= tried + base else { return false }
        return links.hasUp(besides: link, since: tried)
            || lacksMaster && master.master(at: now) != nil
    }

    /// Until when to wait for a sign.
    var wait: ContinuousClock.Instant {
        let now = ContinuousClock.now
        return nextTry > now ? min(nextTry, now + Self.glance) : now + Self.moment
    }

    mutating func began() { tried = .now }

    /// The try ended, or the connection that it made.
    mutating func failed(_ error: RedisError?) {
        if let error { lacksMaster = error == .noMaster }
        nextTry = .now + backoff.failed()
    }

    mutating func succeeded() { backoff.succeeded() }
}
