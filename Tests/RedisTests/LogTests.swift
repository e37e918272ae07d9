import Chat
import Dispatch
import Ports
import TestSupport
import Testing
import Wire

@testable import Upstream

/// The log in Redis: trimmed, shared, forked.
@Suite struct LogTests {
    private let server: RedisProcess

    init() throws { server = try RedisProcess(keeping: .nothing) }

    private func subject(_ change: (inout RedisOptions) -> Void = { _ in }) throws -> Subject {
        let subject = Subject(Redis(try server.options(change)))
        try subject.waitUntilOnline()
        return subject
    }

    @Test func whatIsNotRetainedIsTrimmedAndTheFloorSaysSo() throws {
        let subject = try subject { $0.retain = 10 }
        try subject.conversation()
        try subject.subscribe()
        for number in 1...25 { try subject.send("\(number)", id: "m\(number)") }
        let page = try subject.page(PageRequest(limit: 100, order: .asc))
        #expect(page.messages.map(\.seq) == Array(16...25))
        #expect(page.head.floor == 16 && !page.hasMoreBefore)
        let changes = try subject.changes(since: 3, mark: nil)
        #expect(changes.messages.map(\.seq) == Array(16...25) && changes.upTo == 26)
        #expect(throws: RequestError.noMessage) {
            try subject.ask(.message(conversation: "c1", id: "m15"))
        }
        #expect(try subject.send("26", id: "m26").seq == 26)
        let floors = try subject.outputs.wait("the last event") { output -> Int? in
            guard case .feed(.message(_, _, let message, let head, _)) = output,
                message.seq == 26
            else { return nil }
            return head.floor
        }
        #expect(floors == 17)
    }

    @Test func aLimitThatComesLaterIsReachedStepByStep() throws {
        let long = try subject()
        try long.conversation()
        for _ in 0..<5 {
            let messages = (0..<1000).map { _ in
                NewMessage(author: "alice", content: MessageContent(body: "x"))
            }
            try long.perform(.send(conversation: "c1", messages))
        }
        let short = try subject { $0.retain = 100 }
        try short.send("1")
        #expect(try short.head().floor == 2001, "no write takes long because of it")
        try short.send("2")
        try short.send("3")
        #expect(try short.head().floor == 5003 - 99)
        // And the tag of the log.
        #expect(try server.ask("HLEN", "gapless:{c1}:ids") == .integer(101))
    }

    @Test func aReaderIsToldOfTheOwnPlaceAndAStrangerOfNone() throws {
        let subject = try subject()
        try subject.conversation(of: ["alice", "bob"])
        for number in 1...3 { try subject.send("\(number)") }
        try subject.perform(.markRead(conversation: "c1", seq: 1), by: .user("bob"))
        func reader(_ user: String?) throws -> ReaderState? {
            guard case .conversation(let view) = try subject.ask(.conversation("c1", reader: user))
            else { throw TestFailure("no conversation") }
            #expect(view.record.participants == ["alice", "bob"] && view.head.seq == 3)
            return view.reader
        }
        #expect(try reader("bob") == ReaderState(lastReadSeq: 1, unreadCount: 2))
        #expect(try reader("alice") == ReaderState(lastReadSeq: 3, unreadCount: 0))
        #expect(try reader("carol") == nil)
        #expect(try reader(nil) == nil)
    }

    @Test func twoGatewaysWriteOneDenseLogAndLoseNoChangeOfTheRecord() throws {
        let subjects = try (0..<2).map { _ in try subject() }
        try subjects[0].conversation(of: ["alice"])
        let failures = Collected()
        DispatchQueue.concurrentPerform(iterations: 2) { index in
            do {
                for number in 1...100 {
                    try subjects[index].send("\(number)", id: "\(index)-\(number)")
                    let joining = NewParticipant(user: "user-\(index)-\(number)")
                    try subjects[index].perform(.addParticipants(conversation: "c1", [joining]))
                }
            } catch {
                failures.add("\(error)")
            }
        }
        #expect(failures.all == [])
        let page = try subjects[0].page(PageRequest(limit: 1000, order: .asc))
        #expect(page.messages.map(\.seq) == Array(1...200))
        #expect(page.head.rev == 1 + 200 + 200)
        #expect(Set(page.messages.map(\.rev)).count == 200)
        guard case .conversation(let view) = try subjects[1].ask(.conversation("c1")) else {
            throw TestFailure("no conversation")
        }
        #expect(view.record.participants.count == 201)
        let changes = try subjects[1].changes(since: 0, mark: nil, limit: 1000)
        #expect(changes.messages.count == 200 && changes.record == view.record)
    }

    @Test func theDistinctConversationOfSomePeopleIsOneInAnyOrder() throws {
        let subjects = try (0..<2).map { _ in try subject() }
        for round in 1...20 {
            let ids = Collected()
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                let fields = ConversationFields(participants: ["alice", "bob", "r\(round)"])
                let made = try? subjects[index].perform(
                    .create(id: nil, fields, distinct: true), by: .user("alice"))
                if case .conversation(let view, _) = made { ids.add(view.record.id) }
            }
            #expect(ids.all.count == 2 && Set(ids.all).count == 1, "round \(round)")
        }
    }

    @Test func aForkWithEqualNumbersIsFoundAndDisownedOnce() throws {
        let replica = try RedisProcess(
            ["--replicaof", "127.0.0.1 \(server.port)"], keeping: .nothing)
        let before = try subject()
        try before.conversation()
        for number in 1...5 { try before.send("\(number)") }
        let common = try before.head()
        let isCopied = Deadline.standard.poll {
            (try? replica.ask("HGET", "gapless:{c1}:meta", "seq")) == .bytes(Array("5".utf8))
        }
        try #require(isCopied)
        try replica.ask("REPLICAOF", "NO", "ONE")
        try before.send("lost")
        let lost = try before.head()
        let after = Subject(Redis(try replica.options()))
        try after.waitUntilOnline()
        try after.send("other")
        let forked = try after.head()
        #expect(forked.seq == lost.seq && forked.rev == lost.rev && forked.epoch == lost.epoch)
        #expect(forked.mark != lost.mark)

        #expect(try after.changes(since: common.rev, mark: common.mark).messages.count == 1)
        #expect(refusal { try after.changes(since: lost.rev, mark: lost.mark) } == .conflict)
        #expect(try after.forkEpoch(common, of: "c1").epoch == forked.epoch, "it has that one")
        let renewed = try after.forkEpoch(lost, of: "c1")
        #expect(renewed.epoch != forked.epoch && renewed.rev == forked.rev)
        #expect(after.upstream.faults.newEpochs == [.forked: 1])
        #expect(try after.forkEpoch(lost, of: "c1") == renewed, "the second gateway does no harm")
    }

    @Test func whoIsBehindTheMarksGivesASoundLogNoNewEpoch() throws {
        let subject = try subject()
        try subject.conversation()
        for number in 1...5 { try subject.send("\(number)") }
        let seen = try subject.head()
        for number in 6...20 { try subject.send("\(number)") }
        let head = try subject.head()
        // What trimming does, far behind the messages.
        let marks = "gapless:{c1}:marks"
        try server.ask(
            "EVAL", "redis.call('SET', KEYS[1], redis.call('GETRANGE', KEYS[1], 80, -1))", "1",
            marks)
        try server.ask("HSET", "gapless:{c1}:meta", "base", "10")

        #expect(refusal { try subject.changes(since: seen.rev, mark: seen.mark) } == .conflict)
        #expect(try subject.forkEpoch(seen, of: "c1") == head)
        #expect(subject.upstream.faults.newEpochs == [:])
        let part = try subject.changes(since: seen.rev, mark: nil, limit: 3)
        #expect(part.upTo == 9 && part.more)
        #expect(try subject.changes(since: part.upTo, mark: nil).messages.count == 12)

        var lost = head
        lost.rev += 1
        #expect(try subject.forkEpoch(lost, of: "c1").epoch != head.epoch)
        #expect(subject.upstream.faults.newEpochs == [.rewound: 1])
    }

    @Test func anEntryWithoutItsConversationIsNotListed() throws {
        let subject = try subject()
        try subject.conversation("c1", of: ["alice"])
        try server.ask("ZADD", "gapless:user:alice", "1000", "gone")
        try server.ask("ZADD", "gapless:user:alice", "9999999999999", "coming")
        for _ in 1...2 {
            let answer = try subject.ask(.conversations(user: "alice", limit: 10, cursor: nil))
            guard case .conversations(let list) = answer else { throw TestFailure("no list") }
            #expect(list.total == 1 && list.conversations.map(\.record.id) == ["c1"])
        }
        let isForgotten = Deadline.standard.poll {
            (try? server.ask("ZSCORE", "gapless:user:alice", "gone")) == RedisValue.none
        }
        #expect(isForgotten, "the old entry goes, the new one may be on its way")
        #expect(try server.ask("ZSCORE", "gapless:user:alice", "coming") != .none)
    }

    @Test func aListIsWalkedByItsCursor() throws {
        let subject = try subject()
        for number in 1...7 { try subject.conversation("c\(number)", of: ["alice"]) }
        let newest = try subject.send("x", to: "c7").createdAt
        // Until the server's clock has gone on: at one moment the ids decide.
        while try subject.send("latest", to: "c3").createdAt <= newest {}
        var seen: [String] = []
        var cursor: String?
        repeat {
            let answer = try subject.ask(.conversations(user: "alice", limit: 2, cursor: cursor))
            guard case .conversations(let list) = answer else { throw TestFailure("no list") }
            seen += list.conversations.map(\.record.id)
            cursor = list.next
        } while cursor != nil
        #expect(seen.first == "c3" && Set(seen).count == 7 && seen.count == 7)
        #expect(
            refusal {
                try subject.ask(.conversations(user: "alice", limit: 2, cursor: "no cursor"))
            } == .badRequest)
    }
}

/// The code with which something is refused, nil if it is done.
func refusal<Value>(_ body: () throws -> Value) -> ErrorCode? {
    do {
        _ = try body()
        return nil
    } catch let error as RequestError {
        return error.code
    } catch {
        Issue.record("not refused but failed: \(error)")
        return nil
    }
}
