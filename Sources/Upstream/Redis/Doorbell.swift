/// When the thread of a link has to be woken for new jobs: once, however many come before it looks,
/// and for jobs that are queued together only behind the last of them, so that they go to the
/// server in one piece. A value of its owner.
struct Doorbell {
    /// So many jobs that are queued together don't wait for more.
    static let most = 32

    /// The thread was woken and has not looked since.
    private var isRung = false
    /// How many callers queue jobs together now.
    private var holders = 0
    /// Jobs that nobody was woken for.
    private var held = 0

    /// A job was queued.
    /// - Returns: whether to wake the thread.
    mutating func queued() -> Bool {
        held += 1
        return (holders == 0 || held >= Self.most) && ring()
    }

    /// More jobs are queued until `release`.
    mutating func hold() { holders += 1 }

    /// - Returns: whether to wake the thread.
    mutating func release() -> Bool {
        holders -= 1
        return holders == 0 && held > 0 && ring()
    }

    private mutating func ring() -> Bool {
        defer { isRung = true }
        return !isRung
    }

    /// The thread looks at all that is queued.
    mutating func looked() {
        isRung = false
        held = 0
    }
}
