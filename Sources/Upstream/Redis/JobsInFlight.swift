/// The jobs of a command link whose present piece is sent and not answered yet, oldest first. A
/// value; its link keeps it on one thread.
struct JobsInFlight {
    private var jobs = Fifo<CommandJob>()
    private(set) var long = 0
    private(set) var short = 0
    /// Of all pieces.
    private(set) var bytes = 0

    var first: CommandJob? { jobs.first }

    mutating func append(_ job: CommandJob) {
        count(job, 1)
        jobs.append(job)
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
        if job.isLong { long += step } else { short += step }
        bytes += step * job.pieceBytes
    }
}
