import Engine
import Ports
import Wire

/// The cost of a gateway's catch-up with one conversation, in answers of the origin, and its bound
/// (`Sources/README.md`, P2): for each outage, at most two answers plus the pages that hold what
/// changed.
///
/// An outage begins when the feed is acknowledged, or with a hole in it. It ends with the part of
/// the chain that reaches the end of the log, or the changes that the feed brought, or with a jump.
/// Repetitions caused by faults are not counted: a question without an answer, an answer beside
/// another feed, a page shorter than requested. For the others:
///
/// - no part of the chain begins before the end of what was read since the feed began, and only one
///   at the end of the log;
/// - the parts and the newest page together are at most one more than the full pages that would
///   hold what the parts brought;
/// - no mark is asked about more than twice, for a holder and for the gateway itself, and once more
///   each time that the log was put back or found damaged. A question from below the mark is
///   counted by itself: the stream may pass the mark without hearing it, and ask once more.
struct CatchUpCost {
    /// Questions with this token or a lower one belong to an earlier feed or log.
    private var first: UInt64 = 0
    /// Questions with this token or a lower one preceded the first event about some log.
    private var doubted: UInt64 = 0
    /// Questions with this token or a lower one may be asked again while they have no answer.
    var voided: UInt64 { max(first, doubted) }
    /// The feed's generation; answers of another one are asked for again.
    private var generation = 0
    private var epoch: String?
    /// Epochs that the feed reported before the chain showed which one counts.
    private var heard: Set<String> = []
    /// Changes that the feed brought.
    private var revs: Set<Int> = []
    /// The end of what the chain brought.
    private var reached = 0
    /// How often a mark was asked about.
    private var vouchings: [Vouching: Int] = [:]
    // The current outage:
    private var reads = 0
    private var changes = 0
    private var page = 1
    /// How often the chain was read at its end.
    private var endings = 0
    /// How often the log was put back.
    private var forks = 0
    /// How often the log was found damaged: what was known of its branch is asked again.
    private var damages = 0

    private struct Vouching: Hashable {
        let rev: Int
        let mark: String
        /// Whether the gateway had taken a change below it only.
        let isFromBelow: Bool
    }

    /// A feed begins, or the log may be another one.
    mutating func begin(after token: UInt64, generation: Int? = nil) {
        let last = self
        self = CatchUpCost()
        first = token
        doubted = last.doubted
        forks = last.forks
        damages = last.damages
        self.generation = generation ?? last.generation
    }

    /// The log was put back: the gateway finds out later, and may read once more until then.
    mutating func fork(after token: UInt64) {
        begin(after: token)
        forks += 1
    }

    /// The origin found the log damaged.
    mutating func damage() { damages += 1 }

    /// The feed brings this change; nil: a log ended.
    mutating func hear(_ head: Head?, after token: UInt64) {
        let isOther = epoch.map { $0 != head?.epoch } ?? (head == nil)
        if isOther { begin(after: token) }
        if heard.insert(head?.epoch ?? "").inserted { doubted = token }
        if let head { revs.insert(head.rev) }
    }

    /// Whether the feed's changes continue the end of a part of the chain up to its head.
    private func isJoined(by part: Changes) -> Bool {
        part.upTo >= part.head.rev || (part.upTo + 1...part.head.rev).allSatisfy(revs.contains)
    }

    /// Takes the answer to a question about the conversation as a whole.
    /// - Throws: `Violation` if the question was not necessary.
    mutating func take(
        _ query: HistoryQuery, _ answer: HistoryAnswer, token: UInt64, generation: Int
    ) throws(Violation) {
        guard token > first, generation == self.generation else { return }
        switch (query.bare, answer) {
        case (.changes(_, let rev, let mark?, limit: 1, _), .changes):
            let vouching = Vouching(
                rev: rev, mark: mark, isFromBelow: query.provision.map { $0.rev < rev } ?? true)
            vouchings[vouching, default: 0] += 1
            try require(
                vouchings[vouching, default: 0] <= 2 + forks + damages,
                "asks once more about \(query)")
        case (.changes(_, let since, nil, let limit, .some), .changes(let part)):
            try take(part, since, limit)
            // The gateway takes the feed's report for the end of this log.
            if !heard.isSubset(of: [part.head.epoch]) { begin(after: token) }
        case (.changes(_, _, nil, _, nil), .changes(let part)):
            // A backfill: not counted, but it may be the end.
            if isJoined(by: part) { (reads, changes) = (0, 0) }
        case (.page(_, let request), .page(let page)) where request.isNewest:
            let all = page.head.seq - page.head.floor + 1
            guard page.messages.count == min(request.limit, all) else { return }
            reads += 1
            try check()
        case (.conversation, .conversation):
            // Without subscribers the gateway jumps to the present.
            (reads, changes) = (0, 0)
        default:
            break
        }
    }

    private mutating func take(
        _ part: Changes, _ since: Int, _ limit: Int
    ) throws(Violation) {
        if let epoch, epoch != part.head.epoch { begin(after: first) }
        // What lies between came by the feed, or nobody watches and the gateway skipped it.
        if since > reached { (reads, changes) = (0, 0) }
        epoch = part.head.epoch
        if since < reached, forks > 0 { (reached, reads, changes) = (since, 0, 0) }
        try require(since >= reached, "reads from \(since) on what it has read up to \(reached)")
        // A write that was acknowledged may be lost, and then is looked for once. Of a log that was
        // put back, more may be mentioned and not be there.
        if since == part.head.rev { endings += 1 }
        try require(
            since < part.head.rev || since == part.head.rev && (forks > 0 || endings == 1),
            "reads on at the end, \(since)")
        reached = part.upTo
        // A record from above the part was asked for beside it, and fills no place in it.
        let isChange = part.record.map { $0.rev > since && $0.rev <= part.upTo } ?? false
        let count = part.messages.count + (isChange ? 1 : 0)
        if !part.more || count == limit {
            (reads, changes, page) = (reads + 1, changes + count, limit)
            try check()
        }
        if isJoined(by: part) { (reads, changes) = (0, 0) }
    }

    private func check() throws(Violation) {
        let pages = (changes + page - 1) / page
        try require(
            reads <= 1 + pages, "\(reads) questions for \(changes) changes, \(page) at once")
    }
}

extension PageRequest {
    /// Whether it asks for the end of the log, wherever that is.
    fileprivate var isNewest: Bool { before == nil && after == nil && around == nil }
}

extension HistoryQuery {
    /// The change that a log must have to answer it; nil if none is named.
    fileprivate var provision: Head? {
        if case .provided(let head, _) = self { head } else { nil }
    }

    /// The log of a question about messages, changes, or the conversation itself.
    var log: String? {
        switch self {
        case .page(let id, _), .changes(let id, _, _, _, _), .conversation(let id, reader: nil):
            id
        case .conversation, .conversations, .conversationsSince, .listed, .message, .heads,
            .participants, .reactions, .ownReactions, .mentions:
            nil
        case .provided(_, let query): query.log
        }
    }
}
