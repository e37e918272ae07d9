/// What one connection of the feed is subscribed to: what was asked for, what was acknowledged, and
/// what the server refused or took back because the slot moved. A value; its link keeps it on one
/// thread, and empties it with each connection.
struct Subscriptions {
    private struct Entry {
        var isWanted: Bool
        /// Commands that were sent and are not acknowledged yet. Only when there are none does an
        /// acknowledgement say that the server really holds the subscription.
        var outstanding = 0
        /// Whether the server has held it since, unbroken.
        var isHeld = false
    }

    private var entries: [RedisTopic: Entry] = [:]
    /// The commands without an answer, in order.
    private var asked = Fifo<(topic: RedisTopic, isWanted: Bool)>()
    /// What is wanted and the server does not give: another node may, or this one later.
    private(set) var refused: Set<RedisTopic> = []

    mutating func removeAll() { self = Subscriptions() }

    /// What the server holds.
    var held: [RedisTopic] { entries.filter { $0.value.isHeld }.map(\.key) }

    /// Whether what comes about the topic is to be told.
    func isWanted(_ topic: RedisTopic) -> Bool { entries[topic]?.isWanted == true }

    /// A command is sent.
    mutating func ask(_ topic: RedisTopic, _ isWanted: Bool) {
        entries[topic, default: Entry(isWanted: isWanted)].isWanted = isWanted
        entries[topic]?.outstanding += 1
        asked.append((topic, isWanted))
        refused.remove(topic)
    }

    /// What an acknowledgement says.
    enum Acknowledgement {
        case nothing
        /// From here on the server tells of it.
        case held
        /// Nobody asked: the server does not tell of it any more.
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

    /// The server took it back. Whether it held it until now.
    private mutating func take(_ topic: RedisTopic) -> Bool {
        guard let entry = entries[topic] else { return false }
        entries[topic]?.isHeld = false
        if entry.outstanding == 0 {
            entries[topic] = nil
            if entry.isWanted { refused.insert(topic) }
        }
        return entry.isHeld && entry.isWanted
    }

    /// The server refused the next command, or one of an earlier time that nobody waits for.
    /// - Parameter isMeant: whether a command for the topic can be meant.
    mutating func refuse(_ isMeant: (RedisTopic) -> Bool) {
        guard let first = asked.first, isMeant(first.topic) else { return }
        _ = asked.popFirst()
        guard var entry = entries[first.topic] else { return }
        entry.outstanding -= 1
        entries[first.topic] = entry
        if entry.outstanding == 0 {
            entries[first.topic] = entry.isHeld && entry.isWanted ? entry : nil
            if entry.isWanted, !entry.isHeld { refused.insert(first.topic) }
        }
    }

    /// It is told of elsewhere. Whether the server held it until now.
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
