import Chat
import JSON
import Ports
import TestSupport
import Wire

/// Another origin, from a seed: logs that change, and what an engine that follows them might tell
/// its cache, old values and late ones included.
struct ReplicaOrigin {
    private struct Log {
        var epoch: String
        var rev: Int
        var floor = 1
        /// The values that each message had, oldest first.
        var messages: [[EncodedMessage]] = []
        var records: [Record]

        func head(at rev: Int, floor: Int) -> Head {
            let seq = messages.count { $0[0].rev <= rev }
            return Head(epoch: epoch, seq: seq, rev: rev, mark: "m\(rev)", floor: floor)
        }
    }

    static let ids = ["a", "b", "caf\u{E9}", "cafe\u{301}"]
    static let users = ["u1", "u2", "u3", "u4"]

    private var logs: [ID: Log] = [:]
    private var epochs = 0
    var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }

    /// The moment at which the message at a place was written.
    static func moment(_ seq: Int) -> Timestamp { Timestamp(milliseconds: Int64(seq) * 1000) }

    // MARK: the log

    private mutating func record(_ id: String, rev: Int) -> Record {
        let people = Self.users.shuffled(using: &random).prefix(.random(in: 0...4, using: &random))
        let admins = people.filter { _ in Bool.random(using: &random) }
        return Record(
            id: id, title: chance(3) ? nil : "t\(rev)", participants: Array(people),
            admins: Array(admins), metadata: RawJSON(int: rev),
            createdAt: Timestamp(milliseconds: 0),
            updatedAt: Timestamp(milliseconds: Int64(rev)), rev: rev,
            unknown: chance(4) ? [JSONMember(key: "x", value: RawJSON(int: rev))] : [])
    }

    private mutating func begin(_ id: String) -> Log {
        epochs += 1
        let log = Log(epoch: "e\(epochs)", rev: 1, records: [record(id, rev: 1)])
        logs[id.id] = log
        return log
    }

    private mutating func change(_ id: String) {
        guard var log = logs[id.id] else { return }
        log.rev += 1
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            log.records.append(record(id, rev: log.rev))
        case 1...2 where !log.messages.isEmpty:
            let at = Int.random(in: 0..<log.messages.count, using: &random)
            log.messages[at].append(message(id, at + 1, log.rev, isDeleted: chance(2)))
        default:
            log.messages.append([message(id, log.messages.count + 1, log.rev, isDeleted: false)])
        }
        if chance(12) { log.floor = min(log.floor + 3, log.messages.count + 1) }
        logs[id.id] = log
    }

    private func message(_ id: String, _ seq: Int, _ rev: Int, isDeleted: Bool) -> EncodedMessage {
        EncodedMessage(
            seq: seq, rev: rev, id: "\(id)-\(seq)", author: Self.users[seq % 4],
            isDeleted: isDeleted, createdAt: Self.moment(seq), json: Array("{\"v\":\(rev)}".utf8))
    }

    // MARK: what the cache is told

    /// One thing that the cache may be told, given what a cache that was told all before holds.
    mutating func write(_ model: ReplicaModel) -> StoreWrite {
        let id = Self.ids[Int.random(in: 0..<Self.ids.count, using: &random)]
        guard let held = model.logs[id.id], var log = logs[id.id] else {
            let log = begin(id)
            return .begin(log.records[0], head: log.head(at: log.rev, floor: log.floor))
        }
        for _ in 0..<Int.random(in: 0...3, using: &random) { change(id) }
        log = logs[id.id] ?? log
        switch Int.random(in: 0..<40, using: &random) {
        case 0:
            return .drop(conversation: id)
        case 1:
            log = begin(id)
            return .begin(log.records[0], head: log.head(at: log.rev, floor: log.floor))
        case 2...6:
            return .trim(conversation: id)
        case 7, 8:
            return .changesFrom(
                conversation: id, rev: .random(in: 0...log.rev, using: &random))
        case 9, 10:
            let record = log.records[log.records.count - 1]
            let rev = max(held.head.rev, record.rev)
            return .jump(conversation: id, record, head: head(log, held, from: rev))
        case 11...15:
            let record = log.records.randomElement(using: &random) ?? log.records[0]
            return .record(record, mark: chance(2) ? nil : "m\(record.rev)")
        case 16...20:
            return .stand(conversation: id, head: head(log, held, from: held.head.rev))
        case 21...27 where !held.messages.isEmpty:
            return hold(id, held, log.rev)
        default:
            guard
                let message = log.messages.randomElement(using: &random)?.randomElement(
                    using: &random)
            else { return .trim(conversation: id) }
            return .message(
                conversation: id, message, mark: chance(2) ? nil : "m\(message.rev)")
        }
    }

    /// A head not behind the one held.
    private mutating func head(_ log: Log, _ held: ReplicaModel.Log, from rev: Int) -> Head {
        log.head(
            at: .random(in: min(rev, log.rev)...log.rev, using: &random),
            floor: max(held.head.floor, chance(3) ? log.floor : 1))
    }

    /// A claim to some of the messages that are there.
    private mutating func hold(
        _ id: String, _ held: ReplicaModel.Log, _ newest: Int
    ) -> StoreWrite {
        let start = held.rows.randomElement(using: &random)?.seq ?? 1
        var low = start
        while held.messages[low - 1] != nil, !chance(4) { low -= 1 }
        var high = start
        while held.messages[high + 1] != nil, !chance(4) { high += 1 }
        return .hold(
            conversation: id, Coverage(low, high), asOf: .random(in: 0...newest, using: &random))
    }

    /// A write that contradicts what is held, or nil.
    mutating func contradiction(_ model: ReplicaModel) -> StoreWrite? {
        let id = Self.ids[Int.random(in: 0..<Self.ids.count, using: &random)]
        guard let held = model.logs[id.id] else { return nil }
        guard let message = held.rows.randomElement(using: &random) else {
            return .stand(conversation: id, head: Head(epoch: "x", seq: 0, rev: 1, mark: ""))
        }
        var other = message
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            other.id += "-other"
            return .message(conversation: id, other, mark: nil)
        case 1:
            other.seq = 10_000
            return .message(conversation: id, other, mark: nil)
        case 2 where held.marks[message.seq] != nil:
            return .message(conversation: id, message, mark: "another")
        default:
            return .message(conversation: "nowhere", message, mark: nil)
        }
    }
}
