import Chat
import FoundationEssentials
import Glibc
import Ports
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Upstream

/// What is wrong with a server is said once, in words, and stops nothing that still works.
@Suite struct StateTests {
    private let server: RedisProcess
    private let notices = Notices()

    init() throws {
        server = try RedisProcess(
            ["--enable-debug-command", "local", "--enable-protected-configs", "local"],
            keeping: .nothing)
    }

    private func subject(_ change: (inout RedisOptions) -> Void = { _ in }) throws -> Subject {
        let options = try server.options {
            $0.deadline = .seconds(1)
            change(&$0)
        }
        return Subject(Redis(options, notice: { [notices] in notices.take($0) }))
    }

    /// Waits until health shows the words, or nothing where there are none.
    private func expectTrouble(_ words: String?, of subject: Subject) {
        var seen: String?
        let isSeen = Deadline.standard.poll {
            seen = (subject.upstream as? Redis)?.trouble?.text
            return words.map { seen?.contains($0) == true } ?? (seen == nil)
        }
        #expect(isSeen, "health shows \(seen ?? "nothing"), not \(words ?? "nothing")")
    }

    private func expectOffline(_ subject: Subject) {
        let isOffline = Deadline.standard.poll { subject.outputs.reported == .offline }
        #expect(isOffline)
    }

    /// What can't be read is over when something can, whether or not anybody writes.
    @Test func aRefusedQuestionIsOverWithTheNextAnswer() throws {
        let subject = try subject()
        try subject.waitUntilOnline()
        try subject.conversation()
        try server.ask("SET", "gapless:user:carol", "no list")
        let query = HistoryQuery.conversations(user: "carol", limit: 10, cursor: nil)
        #expect(refusal { try subject.ask(query) } == .originUnavailable)
        expectTrouble("run listed", of: subject)
        _ = try subject.page()
        expectTrouble(nil, of: subject)
    }

    /// A script that never ends: what is asked for meanwhile is asked for again.
    @Test func whatABusyServerRefusesToSubscribeIsAskedForAgain() throws {
        try server.ask("CONFIG", "SET", "busy-reply-threshold", "50")
        let subject = try subject()
        try subject.waitUntilOnline()
        let busy = try TCPSocket(port: server.port)
        try busy.write(Array("EVAL \"while true do end\" 0\r\n".utf8))
        // The feed has a ping on its way, to which it is told that the server is busy.
        usleep(700_000)
        subject.upstream.submit([.subscribe("c1")])
        usleep(300_000)
        try server.ask("SCRIPT", "KILL")
        let isSubscribed = Deadline.standard.poll {
            subject.outputs.all.contains { output in
                if case .subscribed("c1", _) = output { true } else { false }
            }
        }
        #expect(isSubscribed)
        withExtendedLifetime(busy) {}
    }

    @Test func aWrongPasswordIsSaidUntilItIsTheRightOne() throws {
        try server.ask("CONFIG", "SET", "requirepass", "right")
        let subject = try subject { $0.login.password = "wrong-secret" }
        try notices.wait(for: "refused (WRONGPASS)")
        expectOffline(subject)
        expectTrouble("refused (WRONGPASS)", of: subject)
        #expect(!notices.all.contains { $0.text.contains("wrong-secret") })
        let login = RedisCommand.words("AUTH", "right")
        let change = RedisCommand.words("CONFIG", "SET", "requirepass", "wrong-secret")
        let options = try server.options { $0.deadline = .seconds(5) }
        let connection = try RedisConnection(server.address, options)
        _ = try connection.exchange([login, change], until: .now + .seconds(5))
        try subject.waitUntilOnline()
        expectTrouble(nil, of: subject)
    }

    @Test func healthSaysWhenTheFeedWasHeardAndWhatIsWrong() throws {
        let redis = Redis(try server.options { $0.deadline = .seconds(1) })
        let subject = Subject(redis)
        try subject.waitUntilOnline()
        #expect(redis.trouble == nil)
        let first = try #require(redis.heardAt)
        let isHeardAgain = Deadline.standard.poll { redis.heardAt.map { $0 > first } ?? false }
        #expect(isHeardAgain, "a quiet feed is heard by the answers to its pings")
        server.send(SIGSTOP)
        let isOffline = Deadline.standard.poll { subject.outputs.reported == .offline }
        #expect(isOffline && redis.trouble != nil)
        let last = redis.heardAt
        #expect(last.map { $0 < .now - .milliseconds(500) } == true, "half the deadline ago")
        server.send(SIGCONT)
        try subject.waitUntilOnline()
        let isWell = Deadline.standard.poll { redis.trouble == nil }
        #expect(isWell)
    }

    @Test func anOldServerIsRefusedWithItsVersionUntilItIsReplaced() throws {
        var old: OldServer? = try OldServer(version: "6.2.7")
        let port = try #require(old?.port)
        let subject = try subject { $0.address.port = port }
        try notices.wait(for: "Redis 6.2.7 (needed: 7 or newer)")
        expectOffline(subject)
        expectTrouble("Redis 6.2.7 (needed: 7 or newer)", of: subject)
        old = nil
        let new = try RedisProcess(at: port, keeping: .nothing)
        try subject.waitUntilOnline()
        expectTrouble(nil, of: subject)
        try #require(new.port == port)
    }

    /// Ways in which a server can be read but not written.
    enum Refusal: String, CaseIterable, Sendable {
        case memory = "OOM"
        case file = "MISCONF"
        case replicas = "NOREPLICAS"
    }

    private func begin(_ refusal: Refusal) throws {
        switch refusal {
        case .memory:
            try server.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
            try server.ask("CONFIG", "SET", "maxmemory", "1mb")
            // The server itself takes more than half of it, or even all.
            _ = try? server.ask("SETRANGE", "ballast", "1000000", "x")
        case .file:
            let directory = server.directory + "/gone"
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: false)
            try server.ask("CONFIG", "SET", "dir", directory)
            try FileManager.default.removeItem(atPath: directory)
            try server.ask("CONFIG", "SET", "save", "3600 1000000")
            let hasFailed = try Deadline.standard.poll {
                // Refused while one goes on.
                _ = try? server.ask("BGSAVE")
                return try server.info("persistence")["rdb_last_bgsave_status"] == "err"
            }
            try #require(hasFailed)
        case .replicas: try server.ask("CONFIG", "SET", "min-replicas-to-write", "1")
        }
    }

    private func end(_ refusal: Refusal) throws {
        switch refusal {
        case .memory: try server.ask("CONFIG", "SET", "maxmemory", "0")
        case .file: try server.ask("CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
        case .replicas: try server.ask("CONFIG", "SET", "min-replicas-to-write", "0")
        }
    }

    @Test(arguments: Refusal.allCases)
    func whoRefusesWritesAnswersQuestions(_ refusal: Refusal) throws {
        let subject = try subject()
        try subject.waitUntilOnline()
        try subject.conversation()
        try subject.send("written")
        try begin(refusal)
        #expect(throws: RequestError.writesRefused) { try subject.send("refused") }
        try notices.wait(for: "refused (\(refusal.rawValue))")
        expectTrouble("refused (\(refusal.rawValue))", of: subject)
        #expect(try subject.page().messages.count == 1)
        // A gateway that comes now comes online.
        try self.subject().waitUntilOnline()
        #expect(subject.outputs.reported == .online)
        try end(refusal)
        #expect(try subject.send("written again").seq == 2)
        expectTrouble(nil, of: subject)
    }

    @Test func whatIsRefusedIsCountedAndKnownToBeOverWithoutAWrite() throws {
        let subject = try subject()
        try subject.waitUntilOnline()
        try subject.conversation()
        try begin(.memory)
        for _ in 1...3 { _ = try? subject.send("refused") }
        #expect(subject.upstream.faults.refusedWrites == [.oom: 3])
        try end(.memory)
        // Nobody writes.
        expectTrouble(nil, of: subject)
    }

    @Test func aLinkLivesWhileTheServerCanNotWrite() throws {
        let subject = try subject { $0.deadline = .milliseconds(500) }
        try subject.waitUntilOnline()
        try subject.conversation()
        let generation = try subject.subscribe()
        try begin(.file)
        // Many pings are answered with an error meanwhile.
        sleep(3)
        #expect(
            !subject.outputs.all.contains {
                if case .lapsed(generation) = $0 { true } else { false }
            })
        #expect(subject.outputs.reported == .online)
        try end(.file)
    }

    @Test func aServerThatThrowsDataAwayIsTroubleUntilItDoesNot() throws {
        let subject = try subject()
        try subject.waitUntilOnline()
        expectTrouble(nil, of: subject)
        try server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        try notices.wait(for: "Redis throws data away")
        expectTrouble("throws data away", of: subject)
        #expect(subject.outputs.reported == .online)
        try server.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
        expectTrouble(nil, of: subject)
    }

    @Test func aServerThatSavesNothingIsNamedOnce() throws {
        let subject = try subject { $0.unsavedPatience = .seconds(1) }
        try subject.waitUntilOnline()
        try subject.conversation()
        try notices.wait(for: "changes that are on no disk")
        #expect(subject.upstream.faults.trouble == nil)
        try server.ask("CONFIG", "SET", "appendonly", "yes")
        try subject.conversation("c2")
        #expect(notices.all.count { $0.text.contains("on no disk") } == 1)
    }

    @Test func keysOfOthersMayExpireAndOursMayNot() throws {
        let subject = try subject { $0.prefix = "g*[1]:" }
        try subject.waitUntilOnline()
        try subject.conversation()
        try server.ask("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
        try server.ask("SET", "gx1:other", "x", "EX", "1000")
        sleep(2)
        #expect(subject.upstream.faults.trouble == nil)
        try server.ask("EXPIRE", "g*[1]:{c1}:members", "1000")
        expectTrouble("g*[1]:{c1}:members has a TTL", of: subject)
        try server.ask("PERSIST", "g*[1]:{c1}:members")
        expectTrouble(nil, of: subject)
    }

    @Test func afterALongOutageTheLinkIsBackWithinTwoSeconds() throws {
        let subject = try subject {
            $0.backoffBase = .milliseconds(100)
            $0.backoffMax = .seconds(30)
        }
        try subject.waitUntilOnline()
        server.kill()
        expectOffline(subject)
        // Long enough for a wait of several seconds.
        sleep(12)
        try server.restart()
        let began = ContinuousClock.now
        try subject.waitUntilOnline()
        #expect(ContinuousClock.now - began < .seconds(5))
    }

    @Test func aNodeOfAClusterIsNotTakenForAServerNorTheOtherWayRound() throws {
        let whole = try subject { $0.isCluster = true }
        expectTrouble("no node of a cluster (upstream.redis.cluster)", of: whole)
        expectOffline(whole)
        let node = try RedisProcess.node()
        let part = try subject { $0.address = node.address }
        expectTrouble("a node of a cluster (upstream.redis.cluster)", of: part)
        expectOffline(part)
        try node.ask("CONFIG", "SET", "requirepass", "right")
        let wrong = try subject {
            $0.address = node.address
            $0.isCluster = true
            $0.login.password = "wrong-secret"
        }
        expectTrouble("refused (WRONGPASS)", of: wrong)
    }

    @Test(arguments: ["meta", "marks", "messages", "changes", "ids", "members", "reads", "deleted"])
    func aKeyOfAnotherTypeIsNamedAndNothingIsHalfWritten(_ part: String) throws {
        let subject = try subject()
        try subject.waitUntilOnline()
        try subject.conversation()
        try subject.conversation("c2")
        let key = "gapless:{c1}:\(part)"
        try server.ask("DEL", key)
        try server.ask("XADD", key, "*", "a", "b")
        // Those of the log alone: the lists of its members are written a little later.
        let keys = RedisKeys(try server.options()).keys(of: "c1").map {
            String(decoding: $0, as: UTF8.self)
        }
        let digest = ["DEBUG", "DIGEST-VALUE"] + keys
        let before = try server.ask(digest)
        #expect(throws: RequestError.damaged(part)) { try subject.send("x") }
        #expect(throws: RequestError.damaged(part)) { try subject.page() }
        let line = "conversation c1 is damaged in Redis: \(part)"
        try notices.wait(for: line)
        expectTrouble(line, of: subject)
        #expect(try server.ask(digest) == before)
        #expect(try subject.send("x", to: "c2").seq == 1)
        // The operator of the server removes what should not be there.
        try server.ask(["DEL"] + keys)
        try subject.conversation()
        #expect(try subject.send("x").seq == 1)
        expectTrouble(nil, of: subject)
    }

    @Test func anEmptiedServerEndsTheGenerationOfItsWatchers() throws {
        let subject = try subject()
        try subject.waitUntilOnline()
        try subject.conversation()
        try subject.send("gone")
        let generation = try subject.subscribe()
        let seen = try subject.head()
        try server.ask("FLUSHALL")
        _ = try subject.outputs.wait("the lapse") { output in
            if case .lapsed(generation) = output { true } else { nil }
        }
        try notices.wait(for: "lost its data")
        _ = try subject.outputs.wait("the next generation") { output in
            if case .subscribed("c1", let next) = output, next > generation { true } else { nil }
        }
        try subject.waitUntilOnline()
        expectTrouble(nil, of: subject)
        #expect(throws: RequestError.noConversation) { try subject.page() }
        #expect(throws: RequestError.noConversation) { try subject.forkEpoch(seen, of: "c1") }
        try subject.conversation()
        #expect(try subject.head().epoch != seen.epoch)
        #expect(refusal { try subject.changes(since: seen.rev, mark: seen.mark) } == .conflict)
        let sent = try subject.send("new")
        _ = try subject.outputs.wait("the feed of the new log") { output in
            if case .feed(.message("c1", _, sent, _, _)) = output { true } else { nil }
        }
    }

    @Test func scriptsThatWereFlushedAreSentAgain() throws {
        let subject = try subject()
        try subject.waitUntilOnline()
        try subject.conversation()
        try server.ask("SCRIPT", "FLUSH")
        #expect(try subject.send("x").seq == 1)
        #expect(try subject.page().messages.count == 1)
    }

    @Test func aMasterThatBecomesAReplicaCountsNoMore() throws {
        let subject = try subject()
        try subject.waitUntilOnline()
        try subject.conversation()
        let generation = try subject.subscribe()
        let other = try RedisProcess(keeping: .nothing)
        try server.ask("REPLICAOF", "127.0.0.1", "\(other.port)")
        _ = try subject.outputs.wait("the lapse") { output in
            if case .lapsed(generation) = output { true } else { nil }
        }
        expectOffline(subject)
        expectTrouble("a replica (needed: the master)", of: subject)
        #expect(throws: RequestError.self) { try subject.send("x") }
        try server.ask("REPLICAOF", "NO", "ONE")
        try subject.waitUntilOnline()
        expectTrouble(nil, of: subject)
    }
}

/// Lines for the log, as they came.
final class Notices: Sendable {
    private let taken = Mutex<[UpstreamNotice]>([])

    var all: [UpstreamNotice] { taken.withLock { $0 } }

    func take(_ notice: UpstreamNotice) { taken.withLock { $0.append(notice) } }

    func wait(for text: String) throws {
        let came = Deadline.standard.poll { all.contains { $0.text.contains(text) } }
        if !came { throw TestFailure("no line with \(text): \(all.map(\.text))") }
    }
}
