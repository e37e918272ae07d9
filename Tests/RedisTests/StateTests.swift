import Chat
import Dispatch
import Engine
import Glibc
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Upstream

/// What is wrong with a server is said once, in words, and stops nothing that still works.
@Suite struct StateTests {
    private let server: RedisServer
    private let notices = Notices()

    init() throws { server = try RedisServer(["--enable-debug-command", "local"]) }

    private func subject(_ change: (inout RedisOptions) -> Void = { _ in }) throws -> Subject {
        let options = try server.options {
            $0.deadline = .seconds(1)
            change(&$0)
        }
        return Subject(Redis(options, notice: { [notices] in notices.take($0) }))
    }

    @Test func aWrongPasswordIsSaidAndARightOneServes() throws {
        try server.ask("CONFIG", "SET", "requirepass", "right")
        let wrong = try subject { $0.password = "wrong-secret" }
        try notices.wait(for: "WRONGPASS")
        let isOffline = Deadline.standard.poll { wrong.outputs.reported == .offline }
        #expect(isOffline)
        #expect(!notices.all.contains { $0.text.contains("wrong-secret") })
        try subject { $0.password = "right" }.waitUntilOnline()
    }

    @Test func healthSaysWhenTheFeedWasHeardAndWhatIsWrong() throws {
        let redis = Redis(try server.options { $0.deadline = .seconds(1) })
        let subject = Subject(redis)
        try subject.waitUntilOnline()
        #expect(redis.trouble == nil)
        let first = try #require(redis.heardAt)
        let isHeardAgain = Deadline.standard.poll { redis.heardAt.map { $0 > first } ?? false }
        #expect(isHeardAgain, "a quiet feed is heard by the answers to its pings")
        server.process.send(SIGSTOP)
        let isOffline = Deadline.standard.poll { subject.outputs.reported == .offline }
        #expect(isOffline && redis.trouble != nil)
        let last = redis.heardAt
        #expect(last.map { $0 < .now - .milliseconds(500) } == true, "half the deadline ago")
        server.process.send(SIGCONT)
        try subject.waitUntilOnline()
        let isWell = Deadline.standard.poll { redis.trouble == nil }
        #expect(isWell)
    }

    @Test func anOldServerIsRefusedWithItsVersion() throws {
        let old = try OldServer(version: "6.2.7")
        let subject = try subject { $0.address.port = old.port }
        try notices.wait(for: "Redis 6.2.7")
        let isOffline = Deadline.standard.poll { subject.outputs.reported == .offline }
        #expect(isOffline)
    }

    @Test func outOfMemoryRefusesWritesAndAnswersQuestions() throws {
        let subject = try subject()
        try subject.waitUntilOnline()
        try subject.conversation()
        try subject.send("fits")
        try server.ask("CONFIG", "SET", "maxmemory", "1")
        #expect(throws: RequestError.originUnavailable) { try subject.send("does not fit") }
        try notices.wait(for: "OOM")
        #expect(try subject.page().messages.count == 1)
        #expect(subject.outputs.reported == .online)
        try server.ask("CONFIG", "SET", "maxmemory", "0")
        #expect(try subject.send("fits again").seq == 2)
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
        let before = try server.ask("DEBUG", "DIGEST")
        #expect(throws: RequestError.unreadable) { try subject.send("x") }
        #expect(throws: RequestError.unreadable) { try subject.page() }
        try notices.wait(for: part)
        #expect(try server.ask("DEBUG", "DIGEST") == before)
        #expect(try subject.send("x", to: "c2").seq == 1)
    }

    @Test func anEmptiedServerEndsTheGenerationAndIsSaid() throws {
        let subject = try subject()
        try subject.waitUntilOnline()
        try subject.conversation()
        let generation = try subject.subscribe()
        let epoch = try subject.head().epoch
        try server.ask("FLUSHALL")
        _ = try subject.outputs.wait("the lapse") { output in
            if case .lapsed(generation) = output { true } else { nil }
        }
        try notices.wait(for: "lost its data")
        #expect(throws: RequestError.noConversation) { try subject.page() }
        try subject.waitUntilOnline()
        try subject.conversation()
        #expect(try subject.head().epoch != epoch)
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
        let other = try RedisServer()
        try server.ask("REPLICAOF", "127.0.0.1", "\(other.port)")
        let isOffline = Deadline.standard.poll { subject.outputs.reported == .offline }
        #expect(isOffline)
        #expect(throws: RequestError.self) { try subject.send("x") }
        try server.ask("REPLICAOF", "NO", "ONE")
        try subject.waitUntilOnline()
    }
}

/// Lines for the log, as they came.
final class Notices: Sendable {
    private let taken = Mutex<[RedisNotice]>([])

    var all: [RedisNotice] { taken.withLock { $0 } }

    func take(_ notice: RedisNotice) { taken.withLock { $0.append(notice) } }

    func wait(for text: String) throws {
        let came = Deadline.standard.poll { all.contains { $0.text.contains(text) } }
        if !came { throw TestFailure("no line with \(text): \(all.map(\.text))") }
    }
}

/// Says to everybody who connects that it is Redis of some version.
final class OldServer: Sendable {
    let port: Int
    private let descriptor: Int32

    init(version: String) throws {
        port = try Port.free()
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0, listen(descriptor, 8) == 0 else { throw TestFailure("can't listen") }
        let text = "redis_version:\(version)\r\n"
        let reply = Array("$\(text.utf8.count)\r\n\(text)\r\n".utf8)
        let listening = descriptor
        DispatchQueue.global().async {
            while true {
                let connection = accept(listening, nil, nil)
                guard connection >= 0 else { return }
                var buffer = [UInt8](repeating: 0, count: 4096)
                if recv(connection, &buffer, buffer.count, 0) > 0 {
                    _ = send(connection, reply, reply.count, Int32(MSG_NOSIGNAL))
                }
                _ = recv(connection, &buffer, buffer.count, 0)
                close(connection)
            }
        }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }
}
