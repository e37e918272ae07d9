import Cache
import Chat
import JSON
import Ports
import SQLite
import Testing
import Wire

/// What is trimmed leaves the coverage with it.
@Suite struct RetentionTests {
    private let scratch: Scratch
    private let store: Store
    private let connection: Connection
    private let log: LogRow

    /// A cache that holds messages 1 to 100, one a second, as of rev 200.
    init() throws {
        scratch = try Scratch()
        store = try scratch.store(origin: "redis")
        connection = try Connection(path: scratch.file(), access: .readWrite)
        let writes = try LogWrites(connection)
        let moment = Timestamp(milliseconds: 0)
        let record = RecordRow(
            title: nil, metadata: .emptyObject, unknown: [], createdAt: moment, updatedAt: moment)
        var log = LogRow(
            cid: 0, id: "c1", head: Head(epoch: "e", seq: 100, rev: 200, mark: "m"), recordRev: 1,
            lastSeq: 100, activity: moment, touched: try writes.touch(messages: 100, mark: "m"))
        log.cid = try writes.insert(log, record, people: nil)
        for seq in 1...100 {
            try writes.insert(
                EncodedMessage(
                    seq: seq, rev: 100 + seq, id: "m\(seq)", author: "a", isDeleted: false,
                    createdAt: Timestamp(milliseconds: Int64(seq) * 1000), json: [0x7B, 0x7D]),
                hash: nil, into: log)
        }
        try CoverageRows(connection).hold(log.cid, 1, 100, asOf: 200)
        self.log = log
    }

    private func places() throws -> [Int] {
        try MessageRows(connection).above(log.cid, 0, limit: 1000, bytes: .max).map(\.seq)
    }

    private func trim(_ retention: Retention) throws -> Trim.Outcome? {
        try Trim(connection).trim(
            log, holding: places().count, to: retention, at: Timestamp(milliseconds: 100_000))
    }

    @Test func theNewestByNumberStay() throws {
        let outcome = try trim(Retention(messages: 30))
        #expect(outcome == Trim.Outcome(floor: 71, messages: 70, highestRev: 170))
        #expect(try places() == Array(71...100))
        #expect(
            try CoverageRows(connection).runs(log.cid) == [
                .init(Coverage.Run(71, 100), asOf: 200)
            ])
        #expect(try ConversationRows(connection).list().messages == 30)
        #expect(try trim(Retention(messages: 30)) == nil)
    }

    @Test func theYoungestByAgeStay() throws {
        let outcome = try trim(Retention(age: 10_000))
        #expect(outcome?.floor == 90)
        #expect(try places() == Array(90...100))
    }

    @Test func theStricterLimitCounts() throws {
        #expect(try trim(Retention(messages: 50, age: 10_000))?.floor == 90)
        #expect(try trim(Retention(messages: 5, age: 10_000))?.floor == 96)
    }

    @Test func whatIsAllTooOldGoesAltogether() throws {
        let late = Timestamp(milliseconds: 1_000_000)
        let outcome = try Trim(connection).trim(
            log, holding: 100, to: Retention(age: 1), at: late)
        #expect(outcome?.messages == 100)
        #expect(try CoverageRows(connection).runs(log.cid).isEmpty)
    }

    @Test func withoutLimitsNothingGoes() throws {
        #expect(Retention().isEverything)
        #expect(try trim(Retention()) == nil)
        #expect(try trim(Retention(messages: 100)) == nil)
    }

    @Test(arguments: [Retention(messages: 30), Retention(age: 30_000)])
    func whatIsTooMuchAtOnceGoesInParts(_ retention: Retention) throws {
        let trim = try Trim(connection)
        let now = Timestamp(milliseconds: 101_000)
        var floors: [Int] = []
        var isComplete = false
        while let outcome = try trim.trim(
            log, holding: places().count, to: retention, at: now, limit: 25)
        {
            #expect(!isComplete, "after the last part nothing is left")
            floors.append(outcome.floor)
            isComplete = outcome.isComplete
            #expect(try CoverageRows(connection).runs(log.cid).first?.run.low == outcome.floor)
        }
        #expect(floors == [26, 51, 71])
        #expect(isComplete)
    }

    @Test func aTrimThatIsNotCommittedLeavesBoth() throws {
        try connection.execute("BEGIN")
        _ = try trim(Retention(messages: 1))
        try connection.execute("ROLLBACK")
        #expect(try places().count == 100)
        #expect(try CoverageRows(connection).runs(log.cid).first?.run == Coverage.Run(1, 100))
    }
}
