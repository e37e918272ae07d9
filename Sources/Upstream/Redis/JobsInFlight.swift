/// The jobs of a command link whose present piece is sent and not answered yet, oldest first, and
/// what their answers tell of the link. A value; its link keeps it on one thread.
struct JobsInFlight {
    private var jobs = Fifo<CommandJob>()
    private(set) var longPieces = 0
    private(set) var longCommands = 0
    private(set) var shortCommands = 0
    /// Of all pieces.
    private(set) var bytes = 0
    private(set) var pace = LinkPace()

    var first: CommandJob? { jobs.first }

    var commands: Int { longCommands + shortCommands }

    mutating func append(_ job: CommandJob) {
        count(job, 1)
        jobs.append(job)
    }

    /// Removes the oldest, whose piece is answered.
    mutating func answered(at now: ContinuousClock.Instant) -> CommandJob? {
        let job = popFirst()
        if let trip = job?.trip { pace.answered(trip, at: now) }
        return job
    }

    mutating func popFirst() -> CommandJob? {
        guard let job = jobs.popFirst() else { return nil }
        count(job, -1)
        return job
    }

    /// Changes the oldest, if there is one; its piece stays.
    mutating func withFirst<Value>(_ body: (inout CommandJob) -> Value) -> Value? {
        jobs.withFirst(body)
    }

    private mutating func count(_ job: CommandJob, _ step: Int) {
        if job.isLong {
            longPieces += step
            longCommands += step * job.piece.count
        } else {
            shortCommands += step * job.piece.count
        }
        bytes += step * job.pieceBytes
    }
}
