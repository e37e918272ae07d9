import Chat
import Ports
import Wire

/// The latest changes of one conversation in memory, so that clients that were away for a moment
/// resume without a read of the file. It gives the same answer as the store, or none.
///
/// Its stream owns it; the code that appends bounds its size. Message ids are kept beside the
/// changes, because an answer names the ends of the runs then held.
package struct RecentChanges {
    private struct Change {
        /// The log's head after the change.
        let head: Head
        /// Nil if slot 0 changed.
        let message: EncodedMessage?

        /// Estimated bytes in memory, with strings and the array's own fields.
        var bytes: Int { 256 + (message?.json.count ?? 0) }
    }

    /// The head above which it has every change; nil before the first one.
    private var base: Head?
    private var changes: [Change] = []
    /// Estimated bytes of the changes in memory.
    package private(set) var bytes = 0
    private var ids: [Int: String] = [:]

    /// The id of a message takes some 60 bytes.
    private static let idLimit = 2000

    package init() {}

    /// The head of its newest change.
    private var position: Head? { changes.last?.head ?? base }

    // MARK: - Input

    /// The log moved by one change. A change that does not continue the kept ones restarts them.
    /// - Parameters:
    ///   - message: nil where slot 0 changed.
    ///   - limit: bytes beyond which the oldest changes go.
    package mutating func append(
        _ message: EncodedMessage?, from: Head, to head: Head, limit: Int
    ) {
        let isNext = from.epoch == head.epoch && from.rev + 1 == head.rev
        if position != from || !isNext || from.floor != head.floor {
            // Message ids don't change within an epoch.
            let known = base.map { $0.epoch == head.epoch } ?? true ? ids : [:]
            forget()
            ids = known
            base = isNext && from.floor == head.floor ? from : head
            guard base != head else { return }
        }
        let change = Change(head: head, message: message)
        changes.append(change)
        bytes += change.bytes
        if let message {
            if ids.count == Self.idLimit { ids = [:] }
            ids[message.seq] = message.id
        }
        guard bytes > limit else { return }
        // Drops half at once, so that the rest is not moved for each change.
        let end = changes.firstIndex { change in
            bytes -= change.bytes
            return bytes <= limit / 2
        }
        let count = (end ?? changes.count - 1) + 1
        base = changes[count - 1].head
        changes.removeFirst(count)
    }

    /// Adds ids of messages of this log. Ignored if there are so many that no room would be left
    /// for others.
    package mutating func learn(_ new: [Int: String]) {
        guard new.count <= Self.idLimit / 4 else { return }
        if ids.count + new.count > Self.idLimit { ids = [:] }
        ids.merge(new) { _, new in new }
    }

    /// Frees the memory.
    package mutating func forget() { self = RecentChanges() }

    // MARK: - Answers

    /// The changes that the holder needs to reach `head`; nil if only the store knows.
    /// - Complexity: O(changes)
    package func catchUp(_ have: Have, limit: Int, bytes: Int, at head: Head) -> CatchUp? {
        guard let base, position == head, base.rev <= have.asOf, have.asOf <= have.head.rev,
            confirms(have.head) == true
        else { return nil }
        let runs = have.runs.clipped(1, head.seq)
        let top = runs.last ?? 0
        // Every message above was inserted since.
        guard base.seq <= top else { return nil }

        var read = CatchUp(isConfirmed: true, head: head)
        var (outdated, above): ([Int], [EncodedMessage]) = ([], [])
        var taken = 0
        var seen: Set<Int> = []
        for change in changes.reversed() {
            if change.head.rev <= have.asOf, above.count == head.seq - top { break }
            guard let message = change.message, seen.insert(message.seq).inserted else { continue }
            if message.seq > top {
                above.append(message)
            } else if change.head.rev > have.asOf, runs.contains(message.seq) {
                if read.changed.count < limit, taken <= bytes {
                    taken += message.json.count
                    read.changed.append(message)
                } else {
                    outdated.append(message.seq)
                }
            }
        }
        guard above.count == head.seq - top else { return nil }
        read.outdated = Coverage(places: outdated)
        if read.changed.count < limit, taken <= bytes {
            above.sort { $0.seq > $1.seq }
            read.tail = above.fitting(limit: limit - read.changed.count, bytes: bytes - taken)
        }
        var known: [Int: String] = [:]
        for place in read.placesToIdentify(have, bytes: bytes) {
            guard let id = ids[place] else { return nil }
            known[place] = id
        }
        read.identify(known)
        return read
    }

    /// Whether the log had the head that the holder saw; nil if only others know.
    func confirms(_ head: Head) -> Bool? {
        self.head(at: head.rev).map { $0.epoch == head.epoch && $0.mark == head.mark }
    }

    /// The value that a message had before a change; nil if it was new then, or is not kept here.
    /// - Complexity: O(changes) where the message is not new.
    func message(at seq: Int, before rev: Int) -> EncodedMessage? {
        guard let base, let head = head(at: rev - 1), seq <= head.seq else { return nil }
        return changes.prefix(rev - 1 - base.rev).last { $0.message?.seq == seq }?.message
    }

    /// The log's head at a rev, if it is kept here.
    func head(at rev: Int) -> Head? {
        guard let base, rev >= base.rev, rev - base.rev <= changes.count else { return nil }
        return rev == base.rev ? base : changes[rev - base.rev - 1].head
    }
}

extension [EncodedMessage] {
    /// The first messages that fit into `bytes` together; the first one in any case.
    fileprivate func fitting(limit: Int, bytes: Int) -> [EncodedMessage] {
        var taken = 0
        var count = 0
        for message in prefix(limit) {
            taken += message.json.count
            if taken > bytes, count > 0 { break }
            count += 1
        }
        return Array(prefix(count))
    }
}
