import Chat
import Ports
import Wire

/// What a gateway has to say to the origin of its own users, and when it renews its lease. A value
/// without a clock: a test drives it. It knows connections by how they are there, and no sessions.
///
/// A user whose last connection ended stays as they were until the linger is over, and nothing is
/// said: who is back before costs no write. What was said to another origin, or before the lease
/// lapsed, is said again before the lease is renewed.
struct OwnPresence {
    /// What the origin is to know of a user.
    fileprivate enum Word: Hashable { case here(isAway: Bool), ended }

    fileprivate struct Entry {
        /// Connections by which the user is present, and away.
        var present = 0
        var away = 0
        /// How the user is here, or was until the end.
        var isAway = false
        var since: Timestamp
        var end: End?
        /// What the origin has acknowledged.
        var acknowledged: Word?
        /// What it was told without an answer so far.
        var underWay: Word?
        /// Whether it was said less than `pace` ago.
        var isPaced = false
        var isQueued = false

        struct End {
            var at: Timestamp
            var lingersUntil: Timestamp
        }

        var isConnected: Bool { present + away > 0 }

        /// What the origin is to know now.
        func word(at now: Timestamp, isLeaving: Bool) -> Word {
            guard let end, isLeaving || end.lingersUntil <= now else {
                return .here(isAway: isAway)
            }
            return .ended
        }
    }

    /// At most one write for each user and so many milliseconds.
    static let pace: Int64 = 1000
    /// How many users one call says.
    var limit = 500

    private var entries: [ID: Entry] = [:]
    /// Users of whom there may be something to say now, in order.
    private var queue = PresenceQueue<ID>()
    /// Users who were said, and until when nothing is said of them, in order.
    private var paced = PresenceQueue<(user: ID, until: Timestamp)>()
    /// When the linger of users without a connection is over.
    private var ending: [ID: Timestamp] = [:]
    /// Those whom the call under way says.
    private var underWay: [ID] = []
    /// The number of the latest call.
    private(set) var number: Int64 = 0
    /// The era that the origin named last; empty before that.
    private(set) var era = ""
    /// Whether the origin holds the gateway's lease, as far as its last answer says.
    private(set) var isHeld = false
    private var renewedAt: Timestamp?
    /// The gateway stops: the end of a connection is said at once, with its linger.
    private(set) var isLeaving = false

    /// Whether there are users here, connected or lingering.
    var isEmpty: Bool { entries.isEmpty }

    /// Whether users are to be said now.
    var isQueued: Bool { !queue.isEmpty }

    /// Whether the origin knows all that it is to know.
    var isSaid: Bool { queue.isEmpty && underWay.isEmpty && ending.isEmpty }

    // MARK: - Connections

    /// A connection of the user begins, changes or ends.
    /// - Parameters:
    ///   - from: how it was there; nil if it begins.
    ///   - to: how it is there; nil if it ends.
    ///   - linger: milliseconds for which the user stays after the last connection.
    ///   - returnsAt: when its client was told to come back.
    mutating func move(
        _ user: ID, from: ConnectionPresence?, to: ConnectionPresence?, linger: Int64,
        returnsAt: Timestamp? = nil, at now: Timestamp
    ) {
        guard from != to else { return }
        guard var entry = entries[user] ?? (to == .present || to == .away ? Entry(since: now) : nil)
        else { return }
        let wasConnected = entry.isConnected
        let wasAway = entry.isAway
        entry.count(from, -1)
        entry.count(to, 1)
        if entry.isConnected {
            entry.isAway = entry.present == 0
            let isBack = entry.end != nil && entry.word(at: now, isLeaving: isLeaving) == .ended
            if entry.isAway != wasAway || isBack || !wasConnected && entry.end == nil {
                entry.since = now
            }
            entry.end = nil
            ending[user] = nil
        } else if wasConnected {
            let until = max(now, returnsAt ?? now).adding(linger)
            entry.end = Entry.End(at: now, lingersUntil: until)
            if !isLeaving { ending[user] = until }
        }
        entries[user] = entry
        enqueue(user)
    }

    /// The gateway stops.
    mutating func leave() {
        isLeaving = true
        ending = [:]
        for user in entries.keys { enqueue(user) }
    }

    private mutating func enqueue(_ user: ID) {
        guard let entry = entries[user], !entry.isQueued, entry.underWay == nil,
            !entry.isPaced || isLeaving
        else { return }
        entries[user]?.isQueued = true
        queue.append(user)
    }

    // MARK: - Saying

    /// Time has passed: lingers may be over, and who was said may be said again.
    mutating func advance(to now: Timestamp) {
        for (user, until) in ending where until <= now {
            ending[user] = nil
            enqueue(user)
        }
        while let next = paced.first, next.until <= now {
            _ = paced.popFirst()
            entries[next.user]?.isPaced = false
            enqueue(next.user)
        }
    }

    /// What is to be said now, in a call with the renewal that goes with it. The call must be
    /// answered, or have failed, before the next.
    /// - Parameter renews: whether the gateway needs a lease.
    mutating func take(
        lease: Int64, renews: Bool, at now: Timestamp
    ) -> (says: [PresenceSaying], renewal: PresenceCall.Renewal) {
        // A gateway without users and watchers lets its lease lapse.
        if isHeld, let renewedAt, renewedAt.adding(lease) < now { lapse() }
        number += 1
        var says: [PresenceSaying] = []
        while says.count < limit, let user = queue.popFirst() {
            guard var entry = entries[user] else { continue }
            entry.isQueued = false
            let word = entry.word(at: now, isLeaving: isLeaving)
            guard word != entry.acknowledged else {
                entries[user] = word == .ended && !entry.isPaced ? nil : entry
                continue
            }
            entry.underWay = word
            if !entry.isPaced { paced.append((user, now.adding(Self.pace))) }
            entry.isPaced = true
            entries[user] = entry
            underWay.append(user)
            says.append(entry.saying(user, word, at: now))
        }
        guard renews, isRenewalDue(lease: lease, at: now) else { return (says, .none) }
        if isHeld { return (says, .ifHeld) }
        // Whom clients move all the time does not count: the origin knows an earlier word.
        let isAllSaid =
            queue.isEmpty
            && !entries.values.contains { $0.acknowledged == nil && $0.underWay == nil }
        guard isAllSaid else { return (says, .none) }
        return (says, era.isEmpty ? .whole : .allSaid)
    }

    private func isRenewalDue(lease: Int64, at now: Timestamp) -> Bool {
        !isHeld || renewedAt.map { now >= $0.adding(lease / 3) } ?? true
    }

    /// Whether a call is due.
    func isDue(lease: Int64, renews: Bool, at now: Timestamp) -> Bool {
        !queue.isEmpty || renews && isRenewalDue(lease: lease, at: now)
    }

    /// The origin answered the call.
    /// - Parameters:
    ///   - renewal: what the call asked for.
    ///   - sentAt: when it was asked: a renewal counts from there at the earliest.
    mutating func answered(
        _ reading: PresenceReading, renewal: PresenceCall.Renewal, sentAt: Timestamp
    ) {
        for user in underWay {
            let word = entries[user]?.underWay
            entries[user]?.acknowledged = word
            entries[user]?.underWay = nil
            enqueue(user)
        }
        underWay = []
        let isOther = !era.isEmpty && era != reading.era
        era = reading.era
        if reading.isRenewed {
            isHeld = true
            renewedAt = sentAt
        }
        if isOther || renewal != .none && !reading.isRenewed {
            if isHeld || isOther { lapse() }
            isHeld = false
        }
    }

    /// The call failed: what it said may have been heard or not.
    mutating func failed() {
        for user in underWay {
            entries[user]?.underWay = nil
            entries[user]?.acknowledged = nil
            enqueue(user)
        }
        underWay = []
    }

    /// The origin may have lost what it was told, or nobody renewed it: all users are said again.
    private mutating func lapse() {
        isHeld = false
        for user in entries.keys {
            entries[user]?.acknowledged = nil
            enqueue(user)
        }
    }
}

/// First in, first out.
struct PresenceQueue<Element> {
    private var elements: [Element] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }

    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard let first else { return nil }
        head += 1
        // Each element is moved once, on average.
        if head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return first
    }
}

extension OwnPresence.Entry {
    fileprivate mutating func count(_ presence: ConnectionPresence?, _ step: Int) {
        switch presence {
        case .present: present += step
        case .away: away += step
        case .hidden, nil: break
        }
    }

    fileprivate func saying(
        _ user: ID, _ word: OwnPresence.Word, at now: Timestamp
    ) -> PresenceSaying {
        let begun = max(0, now.milliseconds - since.milliseconds)
        guard word == .ended, let end else {
            return PresenceSaying(user: user.text, isAway: isAway, begun: begun)
        }
        return PresenceSaying(
            user: user.text, isAway: isAway, begun: begun,
            ended: max(0, now.milliseconds - end.at.milliseconds),
            lasts: max(0, end.lingersUntil.milliseconds - now.milliseconds))
    }
}
