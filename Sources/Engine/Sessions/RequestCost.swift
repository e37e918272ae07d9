import Chat
import Wire

/// What a frame costs of `limits.requests_per_second`, known before any work is done for it.
extension RequestFrame {
    /// One, and more for a `have` that names many runs.
    var cost: Int {
        guard case .success(let request) = request else { return 1 }
        return request.cost
    }
}

extension Request {
    /// Up to so many rows, bytes and people are what a small request takes; each further time as
    /// many cost one more.
    private static let rows = 100
    private static let bytes = 64 << 10
    private static let people = 100

    /// One, and one more for each 20 runs of a `have` behind the first 20: each is read, looked up
    /// and answered, and a thousand take what fifty small requests do.
    var cost: Int { 1 + Self.steps(runs, Self.runs) }

    private static let runs = 20

    private var runs: Int {
        switch self {
        case .subscribeMessages(_, let have, _), .findBoundaries(_, let have):
            have?.runs.runs.count ?? 0
        case .connect, .refresh, .unsubscribeMessages, .subscribeConversations,
            .unsubscribeConversations, .fetchConversations, .fetchConversation, .fetchMessages,
            .fetchParticipants, .sendMessage, .editMessage, .deleteMessage, .createConversation,
            .updateConversation, .addParticipants, .removeParticipants, .addAdmins, .removeAdmins,
            .deleteConversation, .leaveConversation, .markRead, .typing:
            0
        }
    }

    /// What it costs in all, when it is known what it took.
    /// - Parameters:
    ///   - rows: messages, conversations or participants that were read for it.
    ///   - bytes: of the answer.
    ///   - people: whom the change was about, or who were looked at for it.
    func cost(rows: Int, bytes: Int, people: Int) -> Int {
        // To come back is the cheapest that there is, or nobody would do it.
        if case .subscribeMessages(_, .some, _) = self, runs <= Self.runs, rows <= Self.rows {
            return cost
        }
        return cost + Self.steps(rows, Self.rows) + Self.steps(bytes, Self.bytes)
            + Self.steps(people, Self.people)
    }

    private static func steps(_ count: Int, _ size: Int) -> Int { max(0, count - 1) / size }

    /// What it weighs while it is under way: who waits for much is not read. A `have` weighs one
    /// for each 20 runs, a page one for each 100 messages that are asked for beyond the first.
    var weight: Int {
        switch self {
        case .subscribeMessages(_, let have, let limit):
            (have?.runs.runs.count ?? 0) / Self.runs + Self.steps(limit, Self.rows)
        case .findBoundaries: runs / Self.runs
        case .fetchMessages(_, let page):
            Self.steps(page.limit, Self.rows) * (page.around == nil ? 1 : 2)
        case .fetchConversations(let limit, _), .subscribeConversations(_, let limit):
            Self.steps(limit, Self.rows)
        case .connect, .refresh, .unsubscribeMessages, .unsubscribeConversations,
            .fetchConversation, .fetchParticipants, .sendMessage, .editMessage, .deleteMessage,
            .createConversation, .updateConversation, .addParticipants, .removeParticipants,
            .addAdmins, .removeAdmins, .deleteConversation, .leaveConversation, .markRead, .typing:
            0
        }
    }
}
