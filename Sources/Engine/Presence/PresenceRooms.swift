import Chat
import Wire

/// Who takes part in the conversations of which users are watched: the right to watch. It is asked
/// with each call, when this gateway hears that it changed, and each minute. A value.
struct PresenceRooms {
    struct Room {
        /// Nil before the first answer.
        var members: Set<ID>?
        /// How many take part, also where none of the holders does.
        fileprivate(set) var count = 0
        /// How often a connection's watches, and calls that wait, name it.
        fileprivate(set) var holders: [SessionID: Int] = [:]
        fileprivate var checkedAt: Timestamp?
        /// The turn in which the last answer was asked for, and the one under way.
        fileprivate var answered: Int?
        fileprivate var asked: Int?
        /// Whether who takes part may have changed since it was asked last.
        fileprivate var isStale = false
        /// Whether it is not kept who takes part, since none of the holders does.
        fileprivate var isEmptied = false
        /// Whether it is to be asked as soon as may be.
        fileprivate var isWanted = false
    }

    /// Milliseconds between two checks.
    static let patience: Int64 = 60_000
    /// How many are asked at once: others use the origin, too.
    private static let limit = 50
    /// Milliseconds until one that could not be asked is asked again.
    private static let again: Int64 = 2000

    private var rooms: [ID: Room] = [:]
    private var queue: [ID] = []
    /// Counts the turns in which rooms were asked.
    private(set) var turn = 0

    subscript(_ conversation: ID) -> Room? { rooms[conversation] }

    mutating func hold(_ conversation: ID, by session: SessionID) {
        rooms[conversation, default: Room()].holders[session, default: 0] += 1
        // Those who hold it from now on may take part.
        if rooms[conversation]?.isEmptied == true { rooms[conversation]?.members = nil }
    }

    mutating func release(_ conversation: ID, by session: SessionID) {
        guard let count = rooms[conversation]?.holders[session] else { return }
        rooms[conversation]?.holders[session] = count == 1 ? nil : count - 1
        if rooms[conversation]?.holders.isEmpty == true { rooms[conversation] = nil }
    }

    /// Whether it was answered, and asked after that turn: whatever changed since, that is an
    /// answer to a call which began then.
    func isCurrent(_ conversation: ID, after turn: Int) -> Bool {
        rooms[conversation]?.answered.map { $0 > turn } ?? false
    }

    /// It is to be asked.
    mutating func check(_ conversation: ID) {
        guard let room = rooms[conversation], !room.isWanted else { return }
        rooms[conversation]?.isWanted = true
        if room.asked == nil { queue.append(conversation) }
    }

    /// Who takes part may have changed: it is asked soon, and not at each change.
    mutating func changed(_ conversation: ID) { rooms[conversation]?.isStale = true }

    /// None of those who hold the room takes part: who does is of no use.
    mutating func empty(_ conversation: ID) {
        rooms[conversation]?.members = []
        rooms[conversation]?.isEmptied = true
    }

    /// Any may have changed without a word.
    mutating func checkAll() {
        for conversation in rooms.keys { check(conversation) }
    }

    /// Time has passed.
    /// - Parameter interval: milliseconds between two checks of what changes all the time.
    mutating func advance(to now: Timestamp, interval: Int64) {
        let due = rooms.filter { _, room in
            guard !room.isWanted, room.asked == nil, let checkedAt = room.checkedAt else {
                return false
            }
            return now >= checkedAt.adding(room.isStale ? interval : Self.patience)
        }
        for conversation in due.keys { check(conversation) }
    }

    /// The conversations to ask now.
    mutating func take() -> [ID] {
        guard !queue.isEmpty else { return [] }
        let underWay = rooms.values.count { $0.asked != nil }
        var taken: [ID] = []
        var seen = 0
        turn += 1
        while seen < queue.count, underWay + taken.count < Self.limit {
            let conversation = queue[seen]
            seen += 1
            guard rooms[conversation]?.isWanted == true else { continue }
            rooms[conversation]?.asked = turn
            rooms[conversation]?.isStale = false
            rooms[conversation]?.isWanted = false
            taken.append(conversation)
        }
        queue.removeFirst(seen)
        return taken
    }

    /// It was answered; nil: it could not be. Whatever was known before stays.
    mutating func answered(_ conversation: ID, _ members: Set<ID>?, at now: Timestamp) {
        guard var room = rooms[conversation] else { return }
        room.checkedAt = members == nil ? now.adding(Self.again - Self.patience) : now
        if let members {
            room.members = members
            room.isEmptied = false
            room.count = members.count
            room.answered = room.asked
        }
        room.asked = nil
        rooms[conversation] = room
        if room.isWanted { queue.append(conversation) }
    }
}
