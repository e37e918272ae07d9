import Cache
import Chat
import Ports
import Wire

/// The cache of another origin as dictionaries: what `StoreWrite`s mean, in the plainest words.
struct ReplicaModel {
    struct Log {
        var record: Record
        var recordMark: String?
        var head: Head
        var changesFrom: Int
        var messages: [Int: EncodedMessage] = [:]
        var marks: [Int: String] = [:]
        /// The places held, and as of which change each.
        var held: [Int: Int] = [:]
        var activity: Timestamp

        var last: EncodedMessage? {
            messages.values.filter { !$0.isDeleted }.max { $0.seq < $1.seq }
        }

        /// Messages in order.
        var rows: [EncodedMessage] { messages.values.sorted { $0.seq < $1.seq } }

        /// The places that stand at the stream's.
        var standing: Set<Int> { Set(held.filter { $0.value >= changesFrom }.keys) }

        mutating func drop(below floor: Int) {
            for seq in messages.keys where seq < floor {
                messages[seq] = nil
                marks[seq] = nil
            }
            held = held.filter { $0.key >= floor }
        }

        mutating func lift() {
            held = held.mapValues { $0 >= changesFrom ? max($0, head.rev) : $0 }
        }
    }

    /// A write that can't be true together with what is held.
    struct Refusal: Error {}

    /// By id, byte by byte.
    var logs: [ID: Log] = [:]
    var retention: Retention

    init(retention: Retention) { self.retention = retention }

    mutating func perform(_ write: StoreWrite, at now: Timestamp) throws {
        let id = write.conversation.id
        switch write {
        case .begin(let record, let head):
            logs[id] = Log(
                record: record, recordMark: record.rev == head.rev ? head.mark : nil, head: head,
                changesFrom: head.rev, activity: record.updatedAt)
        case .drop:
            logs[id] = nil
        case .trim:
            logs[id]?.trim(retention, at: now)
        default:
            guard var log = logs[id] else { throw Refusal() }
            try log.perform(write)
            logs[id] = log
        }
    }
}

extension ReplicaModel.Log {
    fileprivate mutating func perform(_ write: StoreWrite) throws {
        switch write {
        case .message(_, let message, let mark):
            try keep(message, mark)
        case .record(let record, let mark, _):
            try replace(record, mark)
        case .stand(_, let head, _):
            try stand(head)
        case .hold(_, let coverage, let asOf):
            for run in coverage.clipped(max(1, head.floor), .max).runs { hold(run, asOf) }
        case .changesFrom(_, let rev): changesFrom = rev
        case .jump(_, let record, let head):
            lift()
            try stand(head)
            changesFrom = head.rev
            try replace(record, record.rev == head.rev ? head.mark : nil)
        case .begin, .drop, .trim:
            break
        }
    }

    /// What touches it and stands at the stream's place, as it does, becomes one with it, as of the
    /// earliest.
    private mutating func hold(_ run: Coverage.Run, _ asOf: Int) {
        for place in run.low...run.high { held[place] = asOf }
        var (low, high, earliest) = (run.low, run.high, asOf)
        func isOne(_ other: Int?) -> Bool {
            guard let other else { return false }
            return other == earliest || min(other, earliest) >= changesFrom
        }
        while isOne(held[low - 1]) || isOne(held[high + 1]) {
            if isOne(held[low - 1]), let other = held[low - 1] {
                while held[low - 1] == other { low -= 1 }
                earliest = min(earliest, other)
            }
            if isOne(held[high + 1]), let other = held[high + 1] {
                while held[high + 1] == other { high += 1 }
                earliest = min(earliest, other)
            }
        }
        for place in low...high { held[place] = earliest }
    }

    private mutating func keep(_ message: EncodedMessage, _ mark: String?) throws {
        guard message.seq >= max(1, head.floor) else { return }
        for (seq, other) in messages where (seq == message.seq) != (other.id == message.id) {
            throw ReplicaModel.Refusal()
        }
        let rev = messages[message.seq]?.rev ?? -1
        if rev == message.rev, let mark {
            if let known = marks[message.seq], known != mark { throw ReplicaModel.Refusal() }
            marks[message.seq] = mark
        }
        guard message.rev > rev else { return }
        if rev == -1 { activity = max(activity, message.createdAt) }
        messages[message.seq] = message
        marks[message.seq] = mark
    }

    private mutating func replace(_ record: Record, _ mark: String?) throws {
        if record.rev == self.record.rev, let mark {
            if let recordMark, recordMark != mark { throw ReplicaModel.Refusal() }
            recordMark = mark
        }
        guard record.rev > self.record.rev else { return }
        self.record = record
        recordMark = mark
        activity = max(activity, record.updatedAt)
    }

    private mutating func stand(_ head: Head) throws {
        guard head.epoch == self.head.epoch else { throw ReplicaModel.Refusal() }
        if head.floor > self.head.floor { drop(below: head.floor) }
        self.head = head
    }

    fileprivate mutating func trim(_ retention: Retention, at now: Timestamp) {
        var floor = 0
        if retention.messages > 0, messages.count > retention.messages {
            floor = rows[messages.count - retention.messages].seq
        }
        if retention.age > 0 {
            let oldest = now.milliseconds - retention.age
            let kept = rows.first { $0.createdAt.milliseconds >= oldest }
            floor = max(floor, kept?.seq ?? (rows.last?.seq ?? 0) + 1)
        }
        let gone = messages.values.filter { $0.seq < floor }
        guard let highest = gone.map(\.rev).max() else { return }
        lift()
        drop(below: floor)
        changesFrom = max(changesFrom, highest)
    }
}
