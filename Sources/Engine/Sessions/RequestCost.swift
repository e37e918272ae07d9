import Chat
import Wire

/// What a frame costs of `limits.requests_per_second`, known before it is processed.
extension RequestFrame {
    /// The frame, decoded if only that shows what it costs: whatever else a client asks for costs 1
    /// until it is answered.
    var priced: RequestFrame {
        method == .subscribeMessages || method == .findBoundaries ? decoded() : self
    }

    /// 1, and more for a `have` with many runs. The frame must be `priced`.
    var cost: Int {
        guard isDecoded, case .success(let request) = request else { return 1 }
        return request.cost
    }
}

extension Request {
    /// A small request takes at most this many rows, bytes and people; each further portion of this
    /// size costs 1 more.
    private static let rows = 100
    private static let bytes = 64 << 10
    private static let people = 100
    /// People whom a page of participants passes: the store walks over them.
    private static let passed = 1000

    /// 1, and 1 more for each 20 runs of a `have` beyond the first 20: each run is read, looked up
    /// and answered, and a thousand of them take as much as fifty small requests.
    var cost: Int { 1 + Self.steps(runs, Self.runs) }

    private static let runs = 20

    private var runs: Int { row.have?.runs.runs.count ?? 0 }

    /// The full cost, when it is known what the request took.
    /// - Parameters:
    ///   - rows: messages, conversations or participants that were read for it.
    ///   - bytes: of the answer.
    ///   - people: participants changed by it, or looked up for it.
    func cost(rows: Int, bytes: Int, people: Int) -> Int {
        // A resume is the cheapest request, or clients would not use it.
        if case .subscribeMessages(_, .some, _) = self, runs <= Self.runs, rows <= Self.rows {
            return cost
        }
        return cost + Self.steps(rows, Self.rows) + Self.steps(bytes, Self.bytes)
            + Self.steps(people, Self.people) + Self.steps(passed, Self.passed)
    }

    private var passed: Int {
        if case .fetchParticipants(_, let page) = self { page.offset } else { 0 }
    }

    private static func steps(_ count: Int, _ size: Int) -> Int { max(0, count - 1) / size }

    /// Its weight while it is under way: a session with too much weight is not read. A `have`
    /// weighs 1 for each 20 runs, a page 1 for each 100 messages beyond the first 100. A write that
    /// is answered with a message or a conversation weighs 1: its answer may have 32 KiB, and can't
    /// be shed, so that more of them at once could bring a session over the hard limit.
    var weight: Int {
        let row = row
        let isAround =
            if case .fetchMessages(_, let page) = self { page.around != nil } else { false }
        let isAnsweredShortly =
            row.method == .deleteConversation || row.method == .leaveConversation
            || row.method == .markRead
        return (row.have?.runs.runs.count ?? 0) / Self.runs
            + Self.steps(row.limit, Self.rows) * (isAround ? 2 : 1)
            + (row.kind == .write && !isAnsweredShortly ? 1 : 0)
    }
}
