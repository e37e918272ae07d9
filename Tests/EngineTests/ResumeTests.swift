import Chat
import Engine
import Ports
import Simulation
import Testing
import Wire

@Suite struct ResumeTests {
    static let now = Timestamp(milliseconds: 1_000_000)

    /// A log with a history, and a holder that left at some moment with some of it.
    static func world(_ random: inout SplitMix64) -> (log: ModelLog, holder: ModelHolder) {
        var log = ModelLog()
        for _ in 0..<Int.random(in: 0...40, using: &random) { step(&log, &random) }
        var holder = ModelHolder()
        holder.epoch = log.epoch
        holder.head = log.head
        holder.asOf = Int.random(in: 0...log.rev, using: &random)
        holder.values[0] = log.rev(of: 0)
        for seq in stride(from: 1, through: log.highest, by: 1) where Bool.random(using: &random) {
            holder.runs.insert(seq, seq)
            // A value may be newer than asOf, never older than the slot's last change at asOf.
            holder.values[seq] =
                Bool.random(using: &random)
                ? log.rev(of: seq) : max(log.rev(of: seq, asOf: holder.asOf), firstRev(seq, log))
        }
        for _ in 0..<Int.random(in: 0...40, using: &random) { step(&log, &random) }
        return (log, holder)
    }

    static func firstRev(_ seq: Int, _ log: ModelLog) -> Int {
        (log.changes.firstIndex { $0.slot == seq } ?? 0) + 1
    }

    static func step(_ log: inout ModelLog, _ random: inout SplitMix64) {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<6: _ = log.insert()
        case 6 where log.highest > 0:
            _ = log.change(Int.random(in: 1...log.highest, using: &random), delete: true)
        case 7...8 where log.highest > 0:
            _ = log.change(Int.random(in: 1...log.highest, using: &random), delete: false)
        default: log.changeRecord()
        }
    }

    @Test func aResumeLeavesTheHolderExact() {
        for seed in 1...12_000 as ClosedRange<UInt64> {
            var random = SplitMix64(seed)
            var (log, holder) = Self.world(&random)
            guard let have = holder.have else { continue }
            let limit = Int.random(in: 1...30, using: &random)
            let bytes =
                Int.random(in: 0..<4, using: &random) == 0
                ? Int.random(in: 1...600, using: &random) : 1 << 20
            let read = log.catchUp(have, limit: limit, bytes: bytes)
            let resume = read.resume(have, bytes: bytes, at: Self.now)
            let lowest = have.runs.first

            #expect(resume.deltas.count <= limit, "seed \(seed)")
            #expect(resume.gaps.count { $0.cause == .limit } <= 16, "seed \(seed)")
            #expect(resume.asOf == log.rev, "seed \(seed)")
            holder.apply(resume, head: log.head, record: log.rev(of: 0), hadHave: true)
            if let lie = holder.lie(against: log) { Issue.record("seed \(seed): \(lie)") }
            #expect(holder.runs == resume.held, "seed \(seed)")
            // Nothing is silently missing: above the lowest place held, all is held or in a gap.
            var declared = holder.runs
            for gap in resume.gaps { declared.insert(gap.after + 1, gap.before - 1) }
            #expect(declared.contains(lowest ?? 1, log.highest), "seed \(seed)")
            // The ends of what is held have ids.
            let ids = Dictionary(
                uniqueKeysWithValues: resume.deltas.map { ($0.message.seq, $0.message.id) })
            for run in resume.held.runs {
                #expect(ids[run.low] ?? read.ids[run.low] != nil, "seed \(seed)")
                #expect(ids[run.high] ?? read.ids[run.high] != nil, "seed \(seed)")
            }
        }
    }

    @Test func aHolderOfAnotherLogIsReset() {
        var log = ModelLog()
        for _ in 1...20 { _ = log.insert() }
        let marks: [Head] = [
            Head(epoch: "e0", seq: 20, rev: 21, mark: log.mark(at: 21)),
            Head(epoch: "e1", seq: 20, rev: 99, mark: "m"),
            Head(epoch: "e1", seq: 20, rev: 10, mark: "fork"),
        ]
        for head in marks {
            var holder = ModelHolder()
            holder.head = head
            holder.runs = [[1, 20]]
            holder.asOf = head.rev
            let have = Have(head: head, asOf: head.rev, runs: [[1, 20]])
            let resume = log.catchUp(have, limit: 5).resume(have, bytes: 1 << 20, at: Self.now)
            #expect(resume.isReset)
            #expect(resume.covers == [[16, 20]])
            #expect(resume.deltas.map(\.message.seq) == [20, 19, 18, 17, 16])
            holder.apply(resume, head: log.head, record: 1, hadHave: true)
            #expect(holder.lie(against: log) == nil)
        }
    }

    @Test func changesComeBeforeWhatIsNew() {
        var log = ModelLog()
        for _ in 1...10 { _ = log.insert() }
        let have = Have(head: log.head, asOf: log.rev, runs: [[1, 4], [7, 10]])
        _ = log.change(2, delete: false)
        _ = log.change(8, delete: true)
        _ = log.change(5, delete: false)
        for _ in 1...3 { _ = log.insert() }
        let resume = log.catchUp(have, limit: 4).resume(have, bytes: 1 << 20, at: Self.now)
        #expect(resume.deltas.map(\.message.seq) == [8, 2, 13, 12])
        #expect(resume.deltas.map(\.type) == [.deleted, .updated, .inserted, .inserted])
        #expect(resume.covers == [[2, 2], [8, 8], [12, 13]])
        #expect(
            resume.gaps.map { [$0.after, $0.before] } == [[4, 7], [10, 12]])
        #expect(resume.gaps.map(\.cause) == [.cold, .limit])
        #expect(resume.gaps.map(\.missing) == [2, 1])
    }
}
