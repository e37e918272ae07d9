import Chat
import Engine
import Ports
import Wire

/// The cache of an origin elsewhere as plain tables: it performs each `StoreWrite` slot by slot,
/// and answers from the tables. It outlives its gateway's process. A value, owned by the gateway of
/// a simulated world; no limits.
package struct CachedLogs {
    struct Row {
        var message: EncodedMessage
        var mark: String?
    }

    /// The tables of one conversation.
    struct Entry {
        var head: Head
        /// The newest head that values came from.
        var seen: Head?
        var record: Record
        var recordMark: String?
        var rows: [Int: Row] = [:]
        /// For each seq held, the change up to which it is.
        var asOf: [Int: Int] = [:]
        var changesFrom: Int
    }

    private(set) var entries: [String: Entry] = [:]
    /// Conversations written since the last check.
    var touched: Set<String> = []
    /// How many messages of a conversation a trim keeps; 0: all.
    package var retained = 0
    /// How many messages a trim drops at most.
    var trimmedAtOnce = Int.max
    /// How many messages were trimmed.
    private(set) var dropped = 0

    package init() {}

    /// Performs the writes in order.
    /// - Throws: `Violation` if they contradict what is held.
    package mutating func perform(_ writes: [StoreWrite]) throws(Violation) {
        for write in writes {
            touched.insert(write.conversation)
            switch write {
            case .begin(let record, let head):
                entries[record.id] = Entry(
                    head: head, record: record,
                    recordMark: record.rev == head.rev ? head.mark : nil, changesFrom: head.rev)
            case .drop(let id):
                entries[id] = nil
            case .message, .record, .stand, .hold, .changesFrom, .jump, .trim:
                guard var entry = entries[write.conversation] else {
                    throw Violation("a write to a conversation that is not held")
                }
                let count = entry.rows.count
                if case .trim = write {
                    entry.trim(to: retained, atOnce: trimmedAtOnce)
                    dropped += count - entry.rows.count
                } else {
                    try Self.perform(write, on: &entry)
                }
                entries[write.conversation] = entry
            }
        }
    }

    /// Conversations with more messages than a trim keeps.
    var untrimmed: [String] {
        guard retained > 0 else { return [] }
        return entries.filter { $0.value.rows.count > retained }.keys.sorted()
    }

    private static func perform(
        _ write: StoreWrite, on entry: inout Entry
    ) throws(Violation) {
        switch write {
        case .message(_, let message, let mark):
            try entry.keep(message, mark)
        case .record(let record, let mark, _):
            try entry.keep(record, mark)
        case .stand(_, let head, let seen):
            try entry.move(to: head)
            entry.seen = seen
        case .hold(_, let places, let asOf):
            for run in places.clipped(max(1, entry.head.floor), .max).runs {
                for place in run.low...run.high { entry.asOf[place] = asOf }
            }
        case .changesFrom(_, let rev): entry.changesFrom = rev
        case .jump(_, let record, let head):
            entry.lift()
            try entry.move(to: head)
            entry.seen = nil
            entry.changesFrom = head.rev
            try entry.keep(record, record.rev == head.rev ? head.mark : nil)
        case .begin, .drop, .trim:
            break
        }
    }
}

extension CachedLogs.Entry {
    fileprivate mutating func keep(_ message: EncodedMessage, _ mark: String?) throws(Violation) {
        guard message.seq >= max(1, head.floor) else { return }
        if var held = rows[message.seq] {
            try require(
                held.message.id == message.id, "another message has the place \(message.seq)")
            if held.message.rev == message.rev {
                try checkMarks(held.mark, mark)
                held.mark = held.mark ?? mark
                rows[message.seq] = held
            }
            guard message.rev > held.message.rev else { return }
        }
        rows[message.seq] = CachedLogs.Row(message: message, mark: mark)
    }

    fileprivate mutating func keep(_ record: Record, _ mark: String?) throws(Violation) {
        if record.rev == self.record.rev {
            try checkMarks(recordMark, mark)
            recordMark = recordMark ?? mark
        }
        guard record.rev > self.record.rev else { return }
        self.record = record
        recordMark = mark
    }

    private func checkMarks(_ held: String?, _ told: String?) throws(Violation) {
        guard let held, let told else { return }
        try require(held == told, "two marks of one rev, \(held) and \(told)")
    }

    fileprivate mutating func move(to head: Head) throws(Violation) {
        try require(head.epoch == self.head.epoch, "another epoch than the conversation began in")
        if head.floor > self.head.floor { drop(below: head.floor) }
        self.head = head
    }

    /// Raises the coverage at the stream's position to that position, before the position changes.
    fileprivate mutating func lift() {
        for (place, asOf) in asOf where changesFrom <= asOf && asOf < head.rev {
            self.asOf[place] = head.rev
        }
    }

    fileprivate mutating func trim(to retained: Int, atOnce limit: Int) {
        let excess = min(limit, rows.count - retained)
        guard retained > 0, excess > 0 else { return }
        let floor = rows.keys.sorted()[excess]
        lift()
        let gone = rows.values.filter { $0.message.seq < floor }.map(\.message.rev).max() ?? 0
        drop(below: floor)
        changesFrom = max(changesFrom, gone)
    }

    private mutating func drop(below floor: Int) {
        rows = rows.filter { $0.key >= floor }
        asOf = asOf.filter { $0.key >= floor }
    }

    // MARK: - Claims

    var cached: Cached {
        var runs: [Cached.Run] = []
        for (place, asOf) in asOf.sorted(by: { $0.key < $1.key }) {
            if let last = runs.last, last.run.high + 1 == place, last.asOf == asOf {
                runs[runs.count - 1].run.high = place
            } else {
                runs.append(Cached.Run(.init(place, place), asOf: asOf))
            }
        }
        return Cached(runs: runs, changesFrom: changesFrom, seen: seen)
    }

    /// The highest seq that the log is known to have.
    var highest: Int { max(head.seq, seen?.seq ?? 0) }

    var newestUndeleted: EncodedMessage? {
        rows.values.map(\.message).filter { !$0.isDeleted }.max { $0.seq < $1.seq }
    }
}
