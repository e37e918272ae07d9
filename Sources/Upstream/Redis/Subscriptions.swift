/// The subscriptions of one feed connection: requested, acknowledged, and those that the server
/// refused or took back because the slot moved. A value; its link keeps it on one thread, and
/// clears it with each connection.
struct Subscriptions {
    private struct Entry {
        var isWanted: Bool
        /// Commands without an acknowledgement. Only when there are none does an acknowledgement
        /// show that the server holds the subscription.
        var outstanding = 0
        /// Whether the server has held it without a break.
        var isHeld = false
    }

    private var entries: [RedisTopic: Entry] = [:]
    /// Unanswered commands, in order.
    private var asked = Fifo<(topic: RedisTopic, isWanted: Bool, command: Int)>()
    /// The number of the newest command.
    private(set) var command = 0
    /// Wanted topics that the server refuses: another node may have them, or this one later.
    private(set) var refused: Set<RedisTopic> = []
    /// When the refused ones are requested again.
    private var askAgainAt: ContinuousClock.Instant?

    mutating func removeAll() { self = Subscriptions() }

    /// The topics that the server holds.
    var held: [RedisTopic] { entries.filter { $0.value.isHeld }.map(\.key) }

    /// Sets when the refused ones are requested again.
    /// - Returns: whether that was not set yet.
    mutating func askAgain(at due: ContinuousClock.Instant) -> Bool {
        guard askAgainAt == nil else { return false }
        askAgainAt = due
        return true
    }

    /// The refused ones that are to be requested again now.
    mutating func takeRefused(at now: ContinuousClock.Instant) -> Set<RedisTopic> {
        guard let due = askAgainAt, now >= due else { return [] }
        askAgainAt = nil
        return refused
    }

    /// Whether events of the topic are wanted.
    func isWanted(_ topic: RedisTopic) -> Bool { entries[topic]?.isWanted == true }

    /// A command for one topic or several is sent.
    mutating func begin() { command += 1 }

    /// Whether an answer to this command, or to one before it, is still to come.
    func isAwaited(_ command: Int) -> Bool { asked.first.map { $0.command <= command } ?? false }

    /// Records a topic of the command that is sent.
    mutating func ask(_ topic: RedisTopic, _ isWanted: Bool) {
        entries[topic, default: Entry(isWanted: isWanted)].isWanted = isWanted
        entries[topic]?.outstanding += 1
        asked.append((topic, isWanted, command))
        refused.remove(topic)
    }

    /// The meaning of an acknowledgement.
    enum Acknowledgement {
        case nothing
        /// The subscription holds from here on.
        case held
        /// Unrequested: the server ended the subscription.
        case lost
    }

    mutating func acknowledged(_ topic: RedisTopic, _ isWanted: Bool) -> Acknowledgement {
        guard let first = asked.first, first.topic == topic, first.isWanted == isWanted else {
            return isWanted ? .nothing : take(topic) ? .lost : .nothing
        }
        _ = asked.popFirst()
        guard var entry = entries[topic] else { return .nothing }
        entry.outstanding -= 1
        guard entry.outstanding == 0 else {
            entries[topic] = entry
            return .nothing
        }
        entry.isHeld = entry.isWanted
        entries[topic] = entry.isWanted ? entry : nil
        return entry.isWanted ? .held : .nothing
    }

    /// The server took the subscription back.
    /// - Returns: whether it was held until now.
    private mutating func take(_ topic: RedisTopic) -> Bool {
        guard let entry = entries[topic] else { return false }
        entries[topic]?.isHeld = false
        if entry.outstanding == 0 {
            entries[topic] = nil
            if entry.isWanted { refused.insert(topic) }
        }
        return entry.isHeld && entry.isWanted
    }

    /// Records that the server refused the oldest unanswered command.
    /// - Parameter isMeant: whether the refusal can be about the topic; if not, it is ignored.
    mutating func refuse(_ isMeant: (RedisTopic) -> Bool) {
        guard let first = asked.first, isMeant(first.topic) else { return }
        while let next = asked.first, next.command == first.command {
            _ = asked.popFirst()
            refuse(next.topic)
        }
    }

    private mutating func refuse(_ topic: RedisTopic) {
        guard var entry = entries[topic] else { return }
        entry.outstanding -= 1
        entries[topic] = entry
        guard entry.outstanding == 0 else { return }
        entries[topic] = entry.isHeld && entry.isWanted ? entry : nil
        if entry.isWanted, !entry.isHeld { refused.insert(topic) }
    }

    /// The topic has moved to another server.
    /// - Returns: whether it was held until now.
    mutating func leave(_ topic: RedisTopic) -> Bool {
        refused.remove(topic)
        guard let entry = entries[topic] else { return false }
        let wasHeld = entry.isHeld && entry.isWanted
        entries[topic]?.isWanted = false
        entries[topic]?.isHeld = false
        if entry.outstanding == 0 { entries[topic] = nil }
        return wasHeld
    }
}
