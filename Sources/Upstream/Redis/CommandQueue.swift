import Ports
import Wire

/// A call on its way: commands in their order, sent a piece at a time, so that whoever asks for
/// much holds up nobody.
struct CommandJob {
    /// How many commands, and about how many bytes, go together: some 6 ms of a server's work. A
    /// command that is larger goes alone.
    static let pieceCount = 200
    static let pieceSize = 256 << 10

    let commands: [RedisCommand]
    /// About how many bytes all of them take.
    let size: Int
    /// Whose operation has led to it.
    let payer = Payer.current
    /// How many have been sent.
    private(set) var sent = 0
    /// Of the piece that is on its way, or was answered last.
    private(set) var piece: Range<Int> = 0..<0
    /// Until when the next piece is to be sent, or the one on its way to be answered.
    var deadline: ContinuousClock.Instant
    var replies: [RedisReply] = []
    /// It was told that it failed: its replies are taken from the connection, and count no more.
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
    }

    /// It takes more than one piece.
    var isLong: Bool {
        commands.count > Self.pieceCount || size > Self.pieceSize && commands.count > 1
    }

    /// What its next piece counts where users take turns. Questions are asked for many of them.
    var cost: Int {
        if payer == .gateway { return 1 }
        return max(min(commands.count - sent, Self.pieceCount), min(size, Self.pieceSize) >> 10)
    }

    /// The piece on its way has all its replies.
    var isAnswered: Bool { replies.count == sent }

    /// All that was asked is answered.
    var isDone: Bool { replies.count == commands.count }

    /// About how many bytes the piece takes.
    private(set) var pieceBytes = 0

    /// The next piece goes out.
    /// - Returns: what is to be sent.
    mutating func advance() -> ArraySlice<RedisCommand> {
        var bytes = 0
        var end = sent
        while end < commands.count {
            // What opens the way to a command goes with it.
            let isBound = end > sent && commands[end - 1].isAsking
            let isFull = end - sent >= Self.pieceCount || bytes >= Self.pieceSize
            if isFull, !isBound { break }
            let next = commands[end].size
            if end > sent, bytes + next > Self.pieceSize, !isBound { break }
            bytes += next
            end += 1
        }
        (piece, pieceBytes) = (sent..<end, bytes)
        sent = end
        return commands[piece]
    }
}

/// The jobs that wait for the link, in two rows: those of one piece, and the long ones, which go a
/// piece at a time. In each row users take turns, and what is asked for one user goes in the order
/// in which it came. A value of its owner; it has a limit in jobs and in bytes.
struct CommandQueue {
    /// How many jobs may wait or be on their way, and of one user as many as there is room for
    /// besides. At some 30 µs each it is a third of a second of a server's work; one who asks for
    /// more gets a refusal instead of a wait.
    static let jobLimit = 10_000

    /// How many bytes of commands wait or are on their way, as `CommandJob.size` counts them, when
    /// no more is taken.
    static let byteLimit = 64 << 20

    /// How many pieces of long jobs are on their way at a time: what comes behind them waits for
    /// these alone.
    static let longPieces = 2

    /// How many of the others are on their way at a time, which is some 8 ms of a server's work:
    /// whoever comes waits for these, and then for a turn of each other user.
    static let shortJobs = 256

    private var short = FairQueue<CommandJob>()
    private var long = FairQueue<CommandJob>()
    /// Jobs that wait and jobs that are on their way.
    private(set) var count = 0
    /// What those take.
    private(set) var bytes = 0
    /// No job that waits has an earlier deadline; nil where none waits.
    private(set) var deadline: ContinuousClock.Instant?

    /// Takes a new job.
    /// - Returns: whether there was room for it.
    mutating func add(_ job: CommandJob) -> Bool {
        guard count < Self.jobLimit, bytes < Self.byteLimit,
            short.hasRoom(for: job.payer, of: Self.jobLimit)
        else { return false }
        begin(job)
        if job.isLong {
            putBack(job)
        } else {
            short.append(job, for: job.payer, cost: job.cost)
            noteDeadline(job)
        }
        return true
    }

    /// Counts a job that does not wait.
    mutating func begin(_ job: CommandJob) {
        count += 1
        bytes += job.size
    }

    /// A job that has more to send waits for its next turn.
    mutating func putBack(_ job: CommandJob) {
        long.append(job, for: job.payer, cost: job.cost)
        noteDeadline(job)
    }

    private mutating func noteDeadline(_ job: CommandJob) {
        deadline = min(deadline ?? job.deadline, job.deadline)
    }

    /// Counts the job no more.
    mutating func end(_ job: CommandJob) {
        count -= 1
        bytes -= job.size
    }

    /// - Parameters:
    ///   - withLong: whether a long one may be next.
    ///   - withShort: whether one of the others may be.
    mutating func next(withLong: Bool, withShort: Bool) -> CommandJob? {
        let piece = (withLong ? long.popFirst() : nil) ?? (withShort ? short.popFirst() : nil)
        if short.isEmpty, long.isEmpty { deadline = nil }
        return piece?.element
    }

    /// Takes out what has waited until `now`.
    mutating func expired(_ now: ContinuousClock.Instant) -> [CommandJob] {
        guard let deadline, deadline <= now else { return [] }
        let expired =
            short.removeAll { $0.deadline <= now } + long.removeAll { $0.deadline <= now }
        self.deadline = [short.least(\.deadline), long.least(\.deadline)].compactMap { $0 }.min()
        return expired
    }
}
