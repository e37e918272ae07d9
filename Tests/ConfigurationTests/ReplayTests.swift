@testable import Commands
import JSON
import Testing

/// A server API as a script: it keeps what it is sent, and fails when told to.
private final class ScriptedServer: ReplayServer {
    struct Call: Equatable {
        let method: String
        let path: String
        let body: String
    }

    private(set) var calls: [Call] = []
    /// What the next calls get instead of success, in order.
    var troubles: [Result<HTTPReply, TransportError>] = []
    /// The participants of the conversation, nil if it is not there.
    var participants: [String]?
    /// How long a call takes.
    var onCall: () -> Void = {}

    init(participants: [String]? = nil) { self.participants = participants }

    /// The bodies of all messages, in order.
    var bodies: [String] {
        calls.filter { $0.method == "POST" }.flatMap { call -> [String] in
            guard let value = try? RawJSON(Array(call.body.utf8)) else { return ["?"] }
            return (value.array ?? [value]).map { $0.object?["body"]?.string ?? "?" }
        }
    }

    func call(
        _ method: String, _ path: String, body: [UInt8]?
    ) throws(TransportError) -> HTTPReply {
        onCall()
        if !troubles.isEmpty { return try troubles.removeFirst().get() }
        calls.append(
            Call(method: method, path: path, body: String(decoding: body ?? [], as: UTF8.self)))
        if method == "GET", path.hasSuffix("/participants?limit=0") {
            let list = (participants ?? []).map { "{\"id\":\"\($0)\"}" }.joined(separator: ",")
            return HTTPReply(status: 200, body: Array("{\"participants\":[\(list)]}".utf8))
        }
        if method == "GET" {
            return HTTPReply(status: participants == nil ? 404 : 200, body: Array("{}".utf8))
        }
        return HTTPReply(status: method == "POST" ? 201 : 200, body: [])
    }
}

@Suite struct ReplayTests {
    private let test = TestConsole()

    private func transcript(messages count: Int, authors: [String] = ["ann", "b/b"]) throws
        -> Transcript
    {
        let lines = (1...count).map { "<\(authors[$0 % authors.count])> m\($0)" }
        return try Transcript(
            Array(lines.joined(separator: "\n").utf8), name: "log", bodyLimit: 1000)
    }

    private func replay(
        _ server: ScriptedServer, _ transcript: Transcript, plan: Replay.Plan = .init(),
        on test: TestConsole? = nil
    ) throws {
        let console = (test ?? self.test).console
        let progress = ReplayProgress(console: console)
        let replay = Replay(server: server, console: console, plan: plan, progress: progress)
        try replay.play(transcript, file: "dir/log", into: "a room/1")
    }

    private let path = "/v1/conversations/a%20room%2F1"

    @Test func aConversationThatIsNotThereIsMadeWithItsAuthors() throws {
        let server = ScriptedServer()
        try replay(server, transcript(messages: 3))
        #expect(
            server.calls.prefix(2) == [
                .init(method: "GET", path: path, body: ""),
                .init(method: "PUT", path: path, body: #"{"participants":["b/b","ann"]}"#),
            ])
        #expect(server.bodies == ["m1", "m2", "m3"])
    }

    @Test func aConversationThatIsThereGetsTheAuthorsItLacks() throws {
        let server = ScriptedServer(participants: ["ann", "zoe"])
        try replay(server, transcript(messages: 2))
        #expect(
            server.calls.prefix(3) == [
                .init(method: "GET", path: path, body: ""),
                .init(method: "GET", path: path + "/participants?limit=0", body: ""),
                .init(method: "PUT", path: path + "/participants/b%2Fb", body: ""),
            ])
        #expect(server.calls.count == 4)
    }

    @Test func asFastAsItGoesMeansBatches() throws {
        let server = ScriptedServer(participants: ["ann", "b/b"])
        try replay(server, transcript(messages: 1203))
        #expect(server.bodies == (1...1203).map { "m\($0)" })
        #expect(server.calls.filter { $0.method == "POST" }.count == 3)
        #expect(test.sleeps.isEmpty)
    }

    @Test func aBatchIsBoundedInBytesToo() throws {
        let long = String(repeating: "x", count: 100 << 10)
        let lines = Array(repeating: "<ann> \(long)", count: 5).joined(separator: "\n")
        let transcript = try Transcript(Array(lines.utf8), name: "log", bodyLimit: 1 << 20)
        let server = ScriptedServer(participants: ["ann"])
        try replay(server, transcript)
        let posts = server.calls.filter { $0.method == "POST" }
        #expect(posts.count == 3)
        #expect(posts.allSatisfy { $0.body.utf8.count <= 256 << 10 })
        #expect(server.bodies.count == 5)
    }

    @Test func aRateSpreadsMessagesOverTime() throws {
        let server = ScriptedServer(participants: ["ann", "b/b"])
        let start = test.uptime
        try replay(server, transcript(messages: 11), plan: .init(rate: 10))
        #expect(server.calls.filter { $0.method == "POST" }.count == 11)
        #expect(test.uptime - start == 1000)
    }

    @Test func aSlowServerIsCaughtUpWith() throws {
        let server = ScriptedServer(participants: ["ann", "b/b"])
        let test = test
        server.onCall = { test.pass(1000) }
        try replay(server, transcript(messages: 50), plan: .init(rate: 10))
        #expect(server.bodies == (1...50).map { "m\($0)" })
        #expect(server.calls.filter { $0.method == "POST" }.count <= 7)
    }

    @Test func aSecondReplaySendsTheSameBytes() throws {
        let first = ScriptedServer(participants: ["ann", "b/b"])
        let second = ScriptedServer(participants: ["ann", "b/b"])
        try replay(first, transcript(messages: 20))
        try replay(second, transcript(messages: 20))
        #expect(first.calls == second.calls)
    }

    @Test func aBusyServerIsTriedAgainLaterAndLater() throws {
        let server = ScriptedServer(participants: ["ann", "b/b"])
        let asked = Array(#"{"error":{"code":"rate_limited","after":700}}"#.utf8)
        server.troubles = [
            .success(HTTPReply(status: 503, body: [])),
            .failure(TransportError(reason: "no answer", isTransient: true)),
            .success(HTTPReply(status: 429, body: asked)),
        ]
        try replay(server, transcript(messages: 1))
        #expect(test.sleeps == [100, 200, 700])
        #expect(server.bodies == ["m1"])
    }

    @Test func patienceEnds() throws {
        let server = ScriptedServer()
        server.troubles = Array(
            repeating: .success(HTTPReply(status: 503, body: [])), count: 1000)
        let error = try #require(
            #expect(throws: Replay.Failure.self) {
                try replay(server, transcript(messages: 1), plan: .init(patience: 5000))
            })
        #expect(error.description == "dir/log: the server answered 503, for 5s")
        #expect(test.uptime <= 1000 + 5000)
    }

    @Test(arguments: [
        (
            409, #"{"error":{"code":"conflict","message":"secret words"}}"#,
            "dir/log:1-3: the server answered 409 (conflict)"
        ),
        (401, "", "dir/log:1-3: the server answered 401"),
        (
            500, #"{"error":{"code":"<b>secret words</b>"}}"#,
            "dir/log:1-3: the server answered 500"
        ),
    ])
    func anyOtherAnswerStopsItByFileAndLine(
        _ status: Int, _ body: String, _ message: String
    ) throws {
        let server = ScriptedServer(participants: ["ann", "b/b"])
        var seen = 0
        server.onCall = {
            seen += 1
            // The third call is the first that posts.
            if seen == 3 {
                server.troubles = [.success(HTTPReply(status: status, body: Array(body.utf8)))]
            }
        }
        let error = try #require(
            #expect(throws: Replay.Failure.self) { try replay(server, transcript(messages: 3)) })
        #expect(error.description == message)
        #expect(test.sleeps.isEmpty)
    }

    @Test func progressIsALineASecond() throws {
        let server = ScriptedServer(participants: ["ann", "b/b"])
        try replay(server, transcript(messages: 31), plan: .init(rate: 10))
        #expect(
            test.complaints.split(separator: "\n") == [
                "replay a room/1: 11 of 31 messages, 11/s",
                "replay a room/1: 21 of 31 messages, 10/s",
                "replay a room/1: 31 of 31 messages, 10/s",
            ])
    }

    @Test func onATerminalProgressIsOneLine() throws {
        let terminal = TestConsole(isTerminal: true)
        let server = ScriptedServer(participants: ["ann", "b/b"])
        try replay(server, transcript(messages: 31), plan: .init(rate: 10), on: terminal)
        #expect(terminal.complaints.hasSuffix("\n"))
        #expect(terminal.complaints.split(separator: "\n").count == 1)
        #expect(terminal.complaints.contains("\r"))
    }
}
