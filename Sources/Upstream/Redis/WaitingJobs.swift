/// The jobs that wait for the thread of a link, and when it has to be woken for them. A value of
/// its link, whose lock makes one step of each call.
struct WaitingJobs {
    var jobs = CommandQueue()
    private var bell = Doorbell()
    var isStopped = false
    /// The thread has ended.
    var isFinished = false

    /// Adds a new job.
    /// - Returns: whether there was room for it, and whether to wake the thread.
    mutating func add(_ job: CommandJob) -> (isTaken: Bool, isRung: Bool) {
        guard !isFinished, jobs.add(job) else { return (false, false) }
        return (true, bell.queued())
    }

    /// More jobs are added until `release`.
    mutating func hold() { bell.hold() }

    /// - Returns: whether to wake the thread.
    mutating func release() -> Bool { bell.release() }

    /// The job whose next piece is sent beside these, as long as they have fewer bytes than the
    /// link's window. If there is none, the thread is about to wait, and has to be woken for the
    /// next one: all in one step, since it would not hear of a job that came between two.
    mutating func next(beside inFlight: JobsInFlight) -> CommandJob? {
        let job = inFlight.bytes < inFlight.pace.window ? jobs.next(beside: inFlight) : nil
        if job == nil { bell.looked() }
        return job
    }
}
