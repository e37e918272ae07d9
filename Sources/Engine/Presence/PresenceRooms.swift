import Chat
import Wire

/// Who takes part in the conversations of which users are watched: the right to watch. It is asked
/// with each call, when this gateway hears that it changed, and each minute. A value.
struct PresenceRooms {
    struct Room {
        /// Nil before the first answer.
        var members: Set<ID>?
        /// Connections that watch it, and by how many of their watches.
        fileprivate var holders: [SessionID: Int] = [:]
        fileprivate var checkedAt: Timestamp?
        /// Whether it is being asked, and whether that answer may be outdated.
        fileprivate var isAsked = false
        fileprivate var isStale = false
    }

    /// Milliseconds between two checks.
    static let patience: Int64 = 60_000
    /// Milliseconds until one that could not be asked is asked again.
    private static let again: Int64 = 2000

    private var rooms: [ID: Room] = [:]
    private var queue: [ID] = []

    subscript(_ conversation: ID) -> Room? { rooms[conversation] }

    /// The connections that watch it, in order.
    func holders(of conversation: ID) -> [SessionID] {
        (rooms[conversation]?.holders ?? [:]).keys.sorted()
    }

    mutating func hold(_ conversation: ID, by session: SessionID) {
        rooms[conversation, default: Room()].holders[session, default: 0] += 1
    }

    mutating func release(_ conversation: ID, by session: SessionID) {
        guard let count = rooms[conversation]?.holders[session] else { return }
        rooms[conversation]?.holders[session] = count > 1 ? count - 1 : nil
        if rooms[conversation]?.holders.isEmpty == true { rooms[conversation] = nil }
    }

    /// Whether it has been answered since it was last asked.
    func isCurrent(_ conversation: ID) -> Bool {
        rooms[conversation].map { $0.members != nil && !$0.isAsked && !$0.isStale } ?? false
    }

    /// It is to be asked.
    mutating func check(_ conversation: ID) {
        guard let room = rooms[conversation], !room.isStale else { return }
        rooms[conversation]?.isStale = true
        if !room.isAsked { queue.append(conversation) }
    }

    /// Any may have changed without a word.
    mutating func checkAll() {
        for conversation in rooms.keys.sorted(by: { $0.text < $1.text }) { check(conversation) }
    }

    /// Time has passed.
    mutating func advance(to now: Timestamp) {
        let due = rooms.filter { _, room in
            !room.isStale && !room.isAsked
                && room.checkedAt.map { now >= $0.adding(Self.patience) } ?? false
        }
        for conversation in due.keys.sorted(by: { $0.text < $1.text }) { check(conversation) }
    }

    /// The conversations to ask now.
    mutating func take() -> [ID] {
        defer { queue = [] }
        return queue.filter { conversation in
            guard rooms[conversation] != nil else { return false }
            rooms[conversation]?.isAsked = true
            rooms[conversation]?.isStale = false
            return true
        }
    }

    /// It was answered; nil: it could not be. Whatever was known before stays.
    mutating func answered(_ conversation: ID, _ members: Set<ID>?, at now: Timestamp) {
        guard var room = rooms[conversation] else { return }
        room.isAsked = false
        room.checkedAt = members == nil ? now.adding(Self.again - Self.patience) : now
        if let members { room.members = members }
        rooms[conversation] = room
        if room.isStale { queue.append(conversation) }
    }
}
