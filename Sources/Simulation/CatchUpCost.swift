import Engine
import Ports
import Wire

/// What catching up with one conversation has cost a gateway, in answers of the origin, and the
/// bound on it (`Sources/README.md`, P2): of each outage, at most two and as many as there are
/// pages of what changed.
///
/// An outage begins with the acknowledgement of the feed, or with a hole in it, and ends with the
/// part of the chain that reaches the end of the log, or what the feed has told of it, or with a
/// jump. What its faults have to be asked again for
/// counts apart: a question without an answer, one of another feed, a page that was shorter than
/// was asked for. Of the rest:
///
/// - no part of the chain begins before the end of what was read since the feed began, or at the
///   end of the log;
/// - the parts and the newest page together are at most one more than full pages hold what the
///   parts brought;
/// - no mark is asked about more than twice, for a holder and for the gateway itself.
struct CatchUpCost {
    /// Questions up to this one were asked of what was before.
    private var first: UInt64 = 0
    /// Questions up to this one were asked before the feed told of a log that it had not told of.
    private(set) var doubted: UInt64 = 0
    /// Of the feed; what is read of another node is asked for again.
    private var generation = 0
    private var epoch: String?
    /// Logs that the feed has told of, before the chain said which is the one.
    private var heard: Set<String> = []
    /// Changes that the feed has told.
    private var revs: Set<Int> = []
    /// The end of what the chain has brought.
    private var reached = 0
    private var vouchings: [HistoryQuery: Int] = [:]
    // Of the present outage.
    private var reads = 0
    private var changes = 0
    private var page = 1

    /// The feed begins anew, or the log may be another one.
    mutating func begin(after token: UInt64, generation: Int? = nil) {
        let last = self
        self = CatchUpCost()
        first = token
        doubted = last.doubted
        self.generation = generation ?? last.generation
    }

    /// The feed tells of this change; nil that a log has ended.
    mutating func hear(_ head: Head?, after token: UInt64) {
        let isOther = epoch.map { $0 != head?.epoch } ?? (head == nil)
        if isOther { begin(after: token) }
        if heard.insert(head?.epoch ?? "").inserted { doubted = token }
        if let head { revs.insert(head.rev) }
    }

    /// Whether what the feed has told goes on where a part of the chain ends, up to its head.
    private func isJoined(by part: Changes) -> Bool {
        part.upTo >= part.head.rev || (part.upTo + 1...part.head.rev).allSatisfy(revs.contains)
    }

    /// Takes the answer to a question that the gateway asked for the conversation as a whole.
    /// - Throws: `Violation`, if there was no need to ask.
    mutating func take(
        _ query: HistoryQuery, _ answer: HistoryAnswer, token: UInt64, generation: Int
    ) throws(Violation) {
        guard token > first, generation == self.generation else { return }
        switch (query, answer) {
        case (.changes(_, _, .some, limit: 1, _), .changes):
            vouchings[query, default: 0] += 1
            try require(vouchings[query, default: 0] <= 2, "asks once more about \(query)")
        case (.changes(_, let since, .some, let limit, _), .changes(let part)):
            try take(part, since, limit)
            // The gateway takes what the feed told for the end of this log.
            if !heard.isSubset(of: [part.head.epoch]) { begin(after: token) }
        case (.page(_, let request), .page(let page)) where request.isNewest:
            let all = page.head.seq - page.head.floor + 1
            guard page.messages.count == min(request.limit, all) else { return }
            reads += 1
            try check()
        case (.conversation, .conversation):
            // Where nobody watches any more, the gateway goes on from the present.
            (reads, changes) = (0, 0)
        default:
            break
        }
    }

    private mutating func take(
        _ part: Changes, _ since: Int, _ limit: Int
    ) throws(Violation) {
        if let epoch, epoch != part.head.epoch { begin(after: first) }
        epoch = part.head.epoch
        try require(since >= reached, "reads from \(since) on what it has read up to \(reached)")
        try require(since < part.head.rev, "reads on at the end, \(since)")
        reached = part.upTo
        let count = part.messages.count + (part.record == nil ? 0 : 1)
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
    /// The log that is asked about for the gateway's own sake, or for messages or changes.
    var log: String? {
        switch self {
        case .page(let id, _), .changes(let id, _, _, _, _), .conversation(let id, reader: nil):
            id
        case .conversation, .conversations, .conversationsSince, .listed, .message, .heads,
            .participants:
            nil
        }
    }
}
