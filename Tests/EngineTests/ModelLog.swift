import Chat
import Engine
import JSON
import Wire

/// A small seeded generator, so that a failing case can be made again from its number.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// The truth: a log as the plainest list of what was written, and the store's answers derived from
/// it by looking at everything. Slow and obvious on purpose.
struct ModelLog {
    let conversation: String
    var epoch: String
    /// `changes[rev - 1]` wrote slot `seq`; slot 0 is the record.
    private(set) var changes: [(seq: Int, isDeleted: Bool)] = []
    private(set) var highest = 0

    init(conversation: String = "c1", epoch: String = "e1") {
        self.conversation = conversation
        self.epoch = epoch
        changes.append((0, false))
    }

    var rev: Int { changes.count }
    func mark(at rev: Int) -> String { rev == 0 ? "" : "m\(epoch)-\(rev)" }
    var head: Head { Head(epoch: epoch, seq: highest, rev: rev, mark: mark(at: rev)) }

    mutating func insert() -> EncodedMessage {
        highest += 1
        changes.append((highest, false))
        return message(highest)
    }

    mutating func change(_ seq: Int, delete: Bool) -> EncodedMessage {
        changes.append((seq, delete))
        return message(seq)
    }

    mutating func changeRecord() { changes.append((0, false)) }

    /// The number of the slot's newest change at or below `asOf`, 0 if there is none.
    func rev(of seq: Int, asOf: Int? = nil) -> Int {
        let end = asOf ?? rev
        return (changes.prefix(end).lastIndex { $0.seq == seq } ?? -1) + 1
    }

    func message(_ seq: Int) -> EncodedMessage {
        let rev = rev(of: seq)
        return EncodedMessage(
            seq: seq, rev: rev, id: "id\(seq)", author: "a", isDeleted: changes[rev - 1].isDeleted,
            createdAt: Timestamp(milliseconds: Int64(seq) * 1000),
            json: Array("{\"id\":\"id\(seq)\",\"seq\":\(seq),\"rev\":\(rev)}".utf8))
    }

    var record: Record {
        Record(
            id: conversation, title: nil, participants: ["alice", "bob"], admins: [],
            metadata: .emptyObject, createdAt: Timestamp(milliseconds: 0),
            updatedAt: Timestamp(milliseconds: 0), rev: rev(of: 0), unknown: [])
    }

    // MARK: - What a store answers

    func load() -> Loaded {
        let last = (1...max(1, highest)).reversed().first { $0 <= highest && !message($0).isDeleted }
        return Loaded(record: record, head: head, lastMessage: last.map(message))
    }

    func latest(_ limit: Int) -> Page {
        let low = max(1, highest - limit + 1)
        let messages = highest == 0 ? [] : (low...highest).reversed().map(message)
        return Page(
            messages: messages, hasMoreBefore: low > 1, hasMoreAfter: false, head: head)
    }

    func catchUp(_ have: Have, limit: Int, bytes: Int = 1 << 20) -> CatchUp {
        let confirmed =
            have.head.epoch == epoch && have.head.rev <= rev
            && have.head.mark == mark(at: have.head.rev) && have.asOf <= have.head.rev
        guard confirmed else {
            var read = CatchUp(isConfirmed: false, tail: latest(limit).messages, head: head)
            read.ids = ids(read.placesToIdentify(have, bytes: bytes))
            return read
        }
        let runs = have.runs.clipped(1, highest)
        let changed = stride(from: 1, through: highest, by: 1)
            .filter { runs.contains($0) && rev(of: $0) > have.asOf }
            .sorted { rev(of: $0) > rev(of: $1) }
        let above = (runs.last ?? 0) + 1
        let tail = above <= highest
            ? Array((above...highest).reversed().prefix(max(0, limit - changed.count))) : []
        var read = CatchUp(
            isConfirmed: true, changed: changed.prefix(limit).map(message),
            outdated: Coverage(places: changed.dropFirst(limit)), tail: tail.map(message),
            head: head)
        read.ids = ids(read.placesToIdentify(have, bytes: bytes))
        return read
    }

    func ids(_ places: [Int]) -> [Int: String] {
        Dictionary(
            uniqueKeysWithValues: places.filter { 1 <= $0 && $0 <= highest }.map { ($0, "id\($0)") })
    }
}

/// A client as `protocol.md` 1 wants it: what it holds, and nothing else.
struct ModelHolder {
    var epoch = ""
    var asOf = 0
    var runs = Coverage()
    var head: Head?
    /// The rev of the value held, by slot.
    var values: [Int: Int] = [:]

    var have: Have? { head.map { Have(head: $0, asOf: asOf, runs: runs) } }

    /// The answer of `subscribeMessages`.
    mutating func apply(_ resume: Resume, head: Head, record: Int, hadHave: Bool) {
        if resume.isReset || !hadHave || head.epoch != epoch { self = ModelHolder() }
        epoch = head.epoch
        self.head = head
        for delta in resume.deltas { take(delta.message.seq, delta.message.rev) }
        take(0, record)
        runs = runs.union(resume.covers)
        for gap in resume.gaps { runs.remove(gap.after + 1, gap.before - 1) }
        runs.remove(1, head.floor - 1)
        asOf = resume.asOf
    }

    mutating func take(_ seq: Int, _ rev: Int) { values[seq] = max(values[seq] ?? 0, rev) }

    /// What is false about `have`, if anything is.
    func lie(against log: ModelLog) -> String? {
        if epoch != log.epoch { return "epoch \(epoch) is not \(log.epoch)" }
        if asOf > log.rev { return "asOf \(asOf) is above the log's \(log.rev)" }
        for seq in [0] + runs.runs.flatMap({ Array($0.low...$0.high) }) {
            guard let value = values[seq] else { return "slot \(seq) is held without a value" }
            let least = log.rev(of: seq, asOf: asOf)
            if seq > 0 && least == 0 && log.rev(of: seq) == 0 { return "slot \(seq) never was" }
            if value < least { return "slot \(seq) has rev \(value), \(least) was due at \(asOf)" }
            if value > log.rev || log.changes[value - 1].seq != seq {
                return "slot \(seq) has rev \(value), which it never had"
            }
        }
        return nil
    }
}
