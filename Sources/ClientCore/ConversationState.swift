import Chat
import Wire

/// What a session knows of one conversation.
struct ConversationState: Sendable {
    /// Where its subscription stands.
    enum Phase: Equatable {
        /// Nobody wants it.
        case idle
        /// Asked for.
        case opening
        /// Events come.
        case live
        /// It is asked for again when there is a session, or time has passed.
        case waiting
        /// The gateway refused it for good.
        case ended
    }

    /// How many of the pages that came last are kept even if nobody has said yet to look at them.
    private static let recentPages = 4

    let id: String
    var holder = Holder()
    var phase = Phase.idle
    /// Why it was refused for good.
    var ending: Ending?
    /// Counts the subscriptions: what was asked during an earlier one is not part of this one.
    var subscription = 0
    var isOpen = false
    /// What the last frame said: `online` closes what it does not contradict.
    var wasOpen = false
    var outbox = Outbox()
    var queue = ChangeQueue()
    var backoff = Backoff()
    /// How many messages it begins with, and at most resumes with; nil for the session's page.
    var limit: Int?
    /// The places that somebody looks at.
    var watched = Coverage()
    private var recent: [Coverage] = []

    init(id: String) { self.id = id }

    mutating func noteRecent(_ covers: Coverage) {
        recent.append(covers)
        if recent.count > Self.recentPages { recent.removeFirst() }
    }

    /// What is not let go of, however much is held.
    var kept: Coverage { recent.reduce(watched) { $0.union($1) } }
}
