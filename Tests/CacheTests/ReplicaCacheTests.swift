import Cache
import Chat
import Foundation
import JSON
import Ports
import SQLite
import Testing
import Wire

/// What the writes of the cache of another origin mean, one claim at a time. That nothing else
/// happens is for `ReplicaCachePropertyTests`.
@Suite struct ReplicaCacheTests {
    private let scratch: Scratch
    private let store: Store
    private let replica: ReplicaCache
    private let reader: Reader

    init() throws {
        scratch = try Scratch()
        store = try scratch.store(origin: "redis")
        replica = try ReplicaCache(store, retention: Retention(messages: 1_500))
        reader = try Reader(store)
    }

    private func record(_ rev: Int, _ people: [String] = ["u1", "u2"]) -> Record {
        Record(
            id: "c", title: "t\(rev)", participants: people, admins: ["u1"],
            metadata: .emptyObject, createdAt: Timestamp(milliseconds: 0),
            updatedAt: Timestamp(milliseconds: 0), rev: rev, unknown: [])
    }

    private func head(_ seq: Int, _ rev: Int, floor: Int = 1) -> Head {
        Head(epoch: "e", seq: seq, rev: rev, mark: "m\(rev)", floor: floor)
    }

    /// The message at a place, by default with the value that it got first.
    private func message(
        _ seq: Int, rev: Int? = nil, isDeleted: Bool = false, mark: String? = nil
    ) -> StoreWrite {
        .message(
            conversation: "c",
            EncodedMessage(
                seq: seq, rev: rev ?? seq + 1, id: "m\(seq)", author: "u1", isDeleted: isDeleted,
                createdAt: Timestamp(milliseconds: Int64(seq) * 1000),
                json: Array("{}".utf8)), mark: mark)
    }

    private func perform(_ writes: [StoreWrite]) throws(CacheError) {
        try replica.perform(writes, at: Timestamp(milliseconds: 0))
    }

    /// A conversation whose messages from `low` to `high` are held as of their head.
    private func begin(_ low: Int, _ high: Int) throws {
        try perform([.begin(record(1), head: head(high, high + 1))])
        try perform(
            (low...high).map { message($0) } + [
                .hold(conversation: "c", Coverage(low, high), asOf: high + 1)
            ])
    }

    private func loaded() throws -> Loaded {
        guard case .loaded(let loaded) = try reader.answer(.load(conversation: "c")) else {
            throw RequestError.noConversation
        }
        return loaded
    }

    private func catchUp(_ runs: Coverage, asOf: Int) throws -> CatchUp {
        let have = Have(head: try loaded().head, asOf: asOf, runs: runs)
        let answer = try reader.answer(
            .catchUp(conversation: "c", have: have, limit: 100, bytes: .max))
        guard case .catchUp(let read) = answer else { throw RequestError.noConversation }
        return read
    }

    // MARK: what the stream says

    @Test func aJumpLeavesWhatStoodWhereItStood() throws {
        try begin(1, 10)
        try perform([.stand(conversation: "c", head: head(10, 20))])
        try perform([.jump(conversation: "c", record(35), head: head(50, 40))])
        let loaded = try loaded()
        #expect(loaded.cached == Cached(runs: [.init(.init(1, 10), asOf: 20)], changesFrom: 40))
        #expect(loaded.record.rev == 35)
        #expect(loaded.head == head(50, 40))
    }

    @Test func aPageReadBeforeTheStreamGetsThereKeepsItsOwnRev() throws {
        try begin(1, 10)
        try perform([message(14), .hold(conversation: "c", Coverage(14, 14), asOf: 99)])
        try perform([.stand(conversation: "c", head: head(14, 20))])
        try perform([.jump(conversation: "c", record(1), head: head(50, 120))])
        #expect(
            try loaded().cached?.runs == [
                .init(.init(1, 10), asOf: 20), .init(.init(14, 14), asOf: 99),
            ])
    }

    @Test func liveMessagesAreOneRun() throws {
        try begin(1, 10)
        for seq in 11...60 {
            try perform([
                message(seq), .hold(conversation: "c", Coverage(seq, seq), asOf: seq + 1),
                .stand(conversation: "c", head: head(seq, seq + 1)),
            ])
        }
        #expect(
            try loaded().cached == Cached(runs: [.init(.init(1, 60), asOf: 11)], changesFrom: 11))
        try perform([.jump(conversation: "c", record(1), head: head(90, 99))])
        #expect(try loaded().cached?.runs == [.init(.init(1, 60), asOf: 61)])
        try perform([message(61), .hold(conversation: "c", Coverage(61, 61), asOf: 99)])
        #expect(try loaded().cached?.runs.count == 2, "what stands joins nothing that does not")
    }

    @Test func aTrimRaisesChangesFromPastWhatWent() throws {
        try begin(1, 1_510)
        try perform([message(5, rev: 2_000), .stand(conversation: "c", head: head(1_510, 2_000))])
        try perform([.trim(conversation: "c")])
        #expect(
            try loaded().cached
                == Cached(runs: [.init(.init(11, 1_510), asOf: 2_000)], changesFrom: 2_000))
    }

    @Test func aLimitThatWasLoweredIsReachedPieceByPiece() throws {
        try begin(1, 3_500)
        replica.retention = Retention(messages: 100)
        while replica.isTidyingDue { try replica.tidy(at: Timestamp(milliseconds: 0)) }
        try perform([.trim(conversation: "c")])
        var lows = [try loaded().cached?.runs.first?.run.low]
        while replica.isTidyingDue {
            try replica.tidy(at: Timestamp(milliseconds: 0))
            lows.append(try loaded().cached?.runs.first?.run.low)
        }
        #expect(lows == [1_001, 2_001, 3_001, 3_401])
        #expect(try store.audit() == [])
    }

    @Test func whatTheOriginTrimmedIsNotHeld() throws {
        try begin(1, 10)
        try perform([.stand(conversation: "c", head: head(10, 11, floor: 6))])
        #expect(try loaded().cached?.runs.map(\.run) == [.init(6, 10)])
        try perform([message(2), .hold(conversation: "c", Coverage(2, 7), asOf: 5)])
        #expect(try loaded().cached?.runs.map(\.run) == [.init(6, 7), .init(8, 10)])
        try perform([.stand(conversation: "c", head: head(10, 11, floor: 11))])
        #expect(try loaded().lastMessage == nil)
        #expect(try reader.messageCount() == 0)
    }

    @Test func aConversationThatBeginsAgainIsEmptyAtOnceAndPurgedLater() throws {
        try begin(1, 1_200)
        try perform([.begin(record(7), head: head(3, 7))])
        #expect(try loaded().cached == Cached(runs: [], changesFrom: 7))
        #expect(try loaded().lastMessage == nil)
        #expect(try reader.messageCount() == 1_200, "what is left is not waited for")
        var steps = 0
        while replica.isTidyingDue {
            try replica.tidy(at: Timestamp(milliseconds: 0))
            steps += 1
        }
        #expect(try reader.messageCount() == 0)
        #expect(steps > 3)
        #expect(try store.audit() == [])
    }

    // MARK: what a holder is told

    @Test func aResumeIsToldNothingThatWasOvertaken() throws {
        try begin(1, 10)
        try perform([message(2, rev: 15), .stand(conversation: "c", head: head(10, 15))])
        // What changed between 15 and 40 is not here; then 50 is the latest page.
        try perform([.jump(conversation: "c", record(1), head: head(50, 51))])
        try perform(
            (41...50).map { message($0) } + [
                .hold(conversation: "c", Coverage(41, 50), asOf: 51)
            ])
        let behind = try catchUp([[1, 10], [45, 46]], asOf: 12)
        #expect(behind.changed.map(\.seq) == [46, 45])
        #expect(behind.outdated == [[1, 10]], "2 changed at 15, and maybe again")
        #expect(behind.tail.map(\.seq) == [50, 49, 48, 47])
        let near = try catchUp([[1, 5]], asOf: 51)
        #expect(near.outdated.isEmpty)
        #expect(near.tail.map(\.seq) == Array((41...50).reversed()), "no message above a hole")
    }

    @Test func newsOnTopOfAHoleAreNoTail() throws {
        try begin(1, 10)
        try perform([message(20), .hold(conversation: "c", Coverage(20, 20), asOf: 21)])
        #expect(try loaded().lastMessage?.seq == 20)
        #expect(try catchUp([[1, 5]], asOf: 6).tail.map(\.seq) == [10, 9, 8, 7, 6])
        try perform([.stand(conversation: "c", head: head(20, 21))])
        #expect(try catchUp([[1, 5]], asOf: 6).tail.map(\.seq) == [20])
        #expect(try store.audit() == [])
    }

    @Test func onlyWhatWasSeenIsConfirmedOrDenied() throws {
        try begin(1, 10)
        try perform([message(3, rev: 30, mark: "m30"), .record(record(40), mark: "m40")])
        try perform([.stand(conversation: "c", head: head(10, 50))])
        func confirms(_ rev: Int, _ mark: String, _ epoch: String = "e") throws -> Bool? {
            let head = Head(epoch: epoch, seq: 0, rev: rev, mark: mark)
            guard
                case .confirmation(let said) = try reader.answer(
                    .confirm(conversation: "c", head))
            else { throw RequestError.noConversation }
            return said
        }
        for rev in [30, 40, 50] {
            #expect(try confirms(rev, "m\(rev)") == true)
            #expect(try confirms(rev, "other") == false)
            #expect(try confirms(rev, "m\(rev)", "f") == false)
        }
        for rev in [7, 31, 51] { #expect(try confirms(rev, "m\(rev)") == nil) }
    }

    // MARK: what is refused

    @Test func aForkIsRefusedAndNamed() throws {
        try begin(1, 10)
        try perform([message(3, rev: 30, mark: "m30")])
        let fork = [message(4, rev: 31), message(3, rev: 30, mark: "other")]
        let error = #expect(throws: CacheError.self) { try perform(fork) }
        #expect(error?.code == .contradiction)
        #expect(error?.conversation == "c")
        #expect(try reader.messageCount() == 10)
        try perform([.drop(conversation: "c"), .begin(record(1), head: head(0, 1))] + fork)
        #expect(try loaded().cached?.runs == [])
    }

    @Test func anotherEpochIsNoContinuation() throws {
        try begin(1, 10)
        let other = Head(epoch: "f", seq: 10, rev: 12, mark: "m12")
        #expect(throws: CacheError.self) { try perform([.stand(conversation: "c", head: other)]) }
        #expect(throws: CacheError.self) {
            try perform([.jump(conversation: "c", record(1), head: other)])
        }
        #expect(try loaded().head == head(10, 11))
    }

    @Test func theOrderOfThoseWhoTakePartIsTheRecords() throws {
        try perform([.begin(record(1, ["u1", "u2", "u3"]), head: head(0, 1))])
        for (rev, people) in [
            (2, ["u1", "u3"]), (3, ["u1", "u3", "u2"]), (4, ["u4", "u1", "u2"]),
            (5, ["u2", "u5", "u1"]), (6, []), (7, ["u3", "u3", "u1"]),
        ] {
            try perform([.record(record(rev, people), mark: nil)])
            var seen: [String] = []
            for user in people where !seen.contains(user) { seen.append(user) }
            #expect(try loaded().record.participants == seen)
        }
    }

    /// What left and joined since the record that is held is as good as the whole list, and not
    /// looked at where another one is held.
    @Test func whoLeftAndJoinedIsAsGoodAsTheList() throws {
        func change(
            _ rev: Int, _ people: [String], admins: [String] = ["u1"], since: Int,
            removed: [String] = [], joined: [String] = []
        ) throws {
            var record = record(rev, people)
            record.admins = admins
            let step = RecordStep(since: since, removed: removed, joined: joined)
            try perform([.record(record, mark: nil, step: step)])
            #expect(try loaded().record == record)
            #expect(try store.audit() == [])
        }
        try perform([.begin(record(1, ["u1", "u2", "u3"]), head: head(0, 1))])
        try change(2, ["u1", "u2", "u3"], since: 1)
        try change(3, ["u1", "u3", "u4"], since: 2, removed: ["u2"], joined: ["u4"])
        try change(
            4, ["u1", "u4", "u3"], admins: ["u4"], since: 3, removed: ["u3"], joined: ["u3"])
        // The record before this one was never held: the list counts.
        try change(7, ["u5", "u1", "u6"], since: 6, joined: ["u6"])
        #expect(throws: CacheError.self) {
            try change(8, ["u5", "u1", "u6"], since: 7, joined: ["u9"])
        }
    }
}
