import Ports
import Wire

/// The commands of one call, in order, sent a piece at a time, so that a large call blocks nobody.
struct CommandJob {
    /// The most bytes of a piece. A larger command goes alone.
    static let pieceSize = 256 << 10

    let commands: [RedisCommand]
    /// The approximate bytes of all commands.
    let size: Int
    /// The user whose operation it belongs to.
    let payer = Payer.current
    /// The number of commands sent.
    private(set) var sent = 0
    /// The piece in flight, or the last one that was answered.
    private(set) var piece: Range<Int> = 0..<0
    /// The deadline to send the next piece, or for the replies of the one in flight.
    var deadline: ContinuousClock.Instant
    var replies: [RedisReply] = []
    /// Of the piece in flight.
    private(set) var trip: LinkPace.Trip?
    /// It was reported as failed: its replies are read from the connection and dropped.
    var isGivenUp = false
    let then: CommandLink.Completion

    init(
        _ commands: [RedisCommand], until deadline: ContinuousClock.Instant,
        then: @escaping CommandLink.Completion
    ) {
        self.commands = commands
        self.deadline = deadline
        self.then = then
        size = commands.reduce(0) { $0 + $1.size }
        greatestCost = commands.reduce(1) { max($0, $1.cost) }
        isLong =
            commands.contains(where: \.isLong) || size > Self.pieceSize && commands.count > 1
    }

    /// Whether it takes more than one piece, or the cost of one has no bound: few of these are in
    /// flight at a time. It stays what it was when the job was queued first.
    private(set) var isLong: Bool

    /// Of its commands.
    private let greatestCost: Int
    /// The most commands of the next piece.
    private var pieceCount = LinkPace.most

    /// Bounds the next piece.
    mutating func limit(to pieceCount: Int) {
        self.pieceCount = pieceCount
        if sent == 0, commands.count > pieceCount { isLong = true }
    }

    /// The next piece's cost in fair queueing. Questions cost 1: they are asked for many users.
    var cost: Int {
        if payer == .gateway { return 1 }
        return max(
            min(commands.count - sent, pieceCount), min(size, Self.pieceSize) >> 10, greatestCost)
    }

    /// Whether the piece in flight has all its replies.
    var isAnswered: Bool { replies.count == sent }

    /// Whether all commands are answered.
    var isDone: Bool { replies.count == commands.count }

    /// The approximate bytes of the piece.
    private(set) var pieceBytes = 0

    /// Starts the next piece.
    /// - Parameter inFlight: what it is sent behind.
    /// - Returns: the commands to send.
    mutating func advance(
        behind inFlight: JobsInFlight, at now: ContinuousClock.Instant
    ) -> ArraySlice<RedisCommand> {
        var bytes = 0
        var end = sent
        while end < commands.count {
            // `ASKING` goes with its command.
            let isBound = end > sent && commands[end - 1].isAsking
            let isFull = end - sent >= pieceCount || bytes >= Self.pieceSize
            if isFull, !isBound { break }
            let next = commands[end].size
            if end > sent, bytes + next > Self.pieceSize, !isBound { break }
            bytes += next
            end += 1
        }
        (piece, pieceBytes) = (sent..<end, bytes)
        sent = end
        trip = LinkPace.Trip(
            sentAt: now, ahead: inFlight.commands + piece.count, bytes: inFlight.bytes + bytes,
            isTypical: isLong && greatestCost == 1)
        return commands[piece]
    }
}

/// The jobs that wait for the link, in two queues: short jobs of one piece, and long ones, sent a
/// piece at a time. In each, users take turns, and a user's jobs keep their order. A value of its
/// owner, limited in jobs and in bytes.
struct CommandQueue {
    /// The most jobs queued or in flight; a user's may take no more than what is free beside them.
    /// At some 30 µs each it is a third of a second of a server's work; beyond it a
    /// refusal instead of a wait.
    static let jobLimit = 10_000

    /// The most bytes queued or in flight, as `CommandJob.size` counts them.
    static let byteLimit = 64 << 20

    /// The pieces of long jobs in flight: later jobs wait for these alone. Only beside many short
    /// jobs there are more, so that long ones get a fifth of the server; where large pieces fill
    /// the window, which ends sooner, at most a half.
    static let longPieces = 2

    /// The commands of short jobs in flight, some 8 ms of a server's work: a new job waits for
    /// these, and then for a turn of each other user.
    static let shortCommands = 256

    /// The most commands of a piece of a job that is queued now.
    private(set) var pieceCount = LinkPace.least
    private var short = FairQueue<CommandJob>()
    private var long = FairQueue<CommandJob>()
    /// What the last piece of a long job cost, less what short jobs have had since: they go first
    /// until they have had as much, since large pieces fill the link's window by themselves.
    private var debt = 0
    /// Of the jobs queued or in flight.
    private var room = SharedRoom(jobs: jobLimit, bytes: byteLimit)
    /// A lower bound of the queued jobs' deadlines; nil if none is queued.
    private(set) var deadline: ContinuousClock.Instant?

    /// Adds a new job.
    /// - Returns: whether there was room for it.
    mutating func add(_ job: CommandJob) -> Bool {
        var job = job
        job.limit(to: pieceCount)
        guard room.hasRoom(for: job.payer) else { return false }
        begin(job)
        if job.isLong {
            long.append(job, for: job.payer, cost: job.cost)
        } else {
            short.append(job, for: job.payer, cost: job.cost)
        }
        noteDeadline(job)
        return true
    }

    /// Counts a job that bypasses the queue.
    mutating func begin(_ job: CommandJob) { room.enter(job.payer, bytes: job.size) }

    /// Jobs queued or in flight.
    var count: Int { room.count }
    /// Their bytes.
    var bytes: Int { room.bytes }

    /// Queues a long job for its next piece.
    mutating func putBack(_ job: CommandJob) {
        var job = job
        job.limit(to: pieceCount)
        long.append(job, for: job.payer, cost: job.cost)
        noteDeadline(job)
    }

    private mutating func noteDeadline(_ job: CommandJob) {
        deadline = min(deadline ?? job.deadline, job.deadline)
    }

    /// Stops counting the job.
    mutating func end(_ job: CommandJob) { room.leave(job.payer, bytes: job.size) }

    /// The job whose next piece is sent beside these.
    mutating func next(beside inFlight: JobsInFlight) -> CommandJob? {
        pieceCount = inFlight.pace.pieceCount
        let withLong =
            inFlight.longPieces < Self.longPieces
            || inFlight.longCommands < inFlight.shortCommands / 4
        let withShort = inFlight.shortCommands < Self.shortCommands
        var piece = debt > 0 && withShort ? short.popFirst() : nil
        if piece == nil, withLong { piece = long.popFirst() }
        if piece == nil, withShort { piece = short.popFirst() }
        if let piece { debt = piece.element.isLong ? piece.cost : max(0, debt - piece.cost) }
        if short.isEmpty, long.isEmpty { deadline = nil }
        return piece?.element
    }

    /// Removes the queued jobs whose deadline has passed.
    mutating func expired(_ now: ContinuousClock.Instant) -> [CommandJob] {
        guard let deadline, deadline <= now else { return [] }
        let expired =
            short.removeAll { $0.deadline <= now } + long.removeAll { $0.deadline <= now }
        self.deadline = [short.least(\.deadline), long.least(\.deadline)].compactMap { $0 }.min()
        return expired
    }
}
