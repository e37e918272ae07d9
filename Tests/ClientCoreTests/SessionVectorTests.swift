import Chat
import JSON
import enum TestSupport.JSONValue
import struct TestSupport.Vector
import enum TestSupport.Vectors
import Testing
import Wire

@testable import ClientCore

/// The session and what is written in it, against the vectors that the JavaScript client passes
/// too: a case is a list of things that happen, and after each of them what the client does.
@Suite struct SessionVectorTests {
    static let session = Vectors.cases(of: "session").map { Vector(value: $0) }
    static let outbox = Vectors.cases(of: "outbox").map { Vector(value: $0) }

    @Test func theVectorsAreThere() {
        #expect(Self.session.count >= 40 && Self.outbox.count >= 20)
    }

    @Test(arguments: session) func comesBackAsTheVectorSays(_ vector: Vector) throws {
        try play(vector)
    }

    @Test(arguments: outbox) func writesAsTheVectorSays(_ vector: Vector) throws {
        try play(vector)
    }

    private func play(_ vector: Vector) throws {
        var machine = PlayedSession()
        for (at, step) in (vector.value["steps"].array ?? []).enumerated() {
            try machine.take(step)
            machine.check(step, at)
        }
    }
}

/// A session with what surrounds it played by a vector, step for step.
private struct PlayedSession {
    private var session = ClientSession(ClientSession.Options { 0 })
    private var now = Instant(monotonic: 0, clock: Timestamp(milliseconds: 1_700_000_000_000))
    private var attempt = 0
    private var wanted: [Bool] = []
    private var connects = 0
    private var retryIn: Int?
    /// The requests of this connection that are not answered, and all that were not looked at.
    private var open: [JSONValue] = []
    private var asked: [JSONValue] = []
    private var changes = 0

    // MARK: What happens

    mutating func take(_ step: JSONValue) throws {
        wanted = []
        connects = 0
        if step["do"] != .null {
            try perform(step)
        } else if step.object?["credentials"] != nil {
            session.credentials(credentials(step["credentials"]), attempt: attempt, now)
        } else if step["opened"] == true {
            session.opened(now)
        } else if step.object?["closed"] != nil {
            session.closed(code: step["closed"].int.map { UInt16($0) }, now)
        } else if let method = step["answer"].string {
            let at = try #require(open.firstIndex { $0["method"].string == method })
            let part = step["error"] == .null ? "result" : "error"
            let frame: JSONValue = .object(["id": open.remove(at: at)["id"], part: step[part]])
            session.received(frame.bytes, now)
        } else if step["event"] != .null {
            session.received(step["event"].bytes, now)
        } else if let text = step["text"].string {
            session.received(Array(text.utf8), now)
        }
        try turn()
        if let time = step["pass"].int { try pass(Int64(time)) }
    }

    private mutating func pass(_ time: Int64) throws {
        let end = now.monotonic + time
        while let next = session.nextAlarm, next <= end {
            advance(to: max(next, now.monotonic))
            session.tick(now)
            try turn()
        }
        advance(to: end)
    }

    private mutating func advance(to moment: Int64) {
        let clock = now.clock.milliseconds + moment - now.monotonic
        now = Instant(monotonic: moment, clock: Timestamp(milliseconds: clock))
    }

    private func credentials(_ value: JSONValue) -> Credentials? {
        if let name = value["user"].string { return .user(name) }
        return value["token"].string.map { .token($0) }
    }

    private mutating func perform(_ step: JSONValue) throws {
        let id = step["id"].string ?? ""
        switch step["do"].string {
        case "open": session.open(now)
        case "close": session.close(now)
        case "wake": session.wake(now)
        case "follow": session.subscribe(to: "c1")
        case "unfollow": session.unsubscribe(from: "c1")
        case "send":
            let metadata = step["metadata"] == .null ? nil : step["metadata"].bytes
            let draft = Draft(
                id: step["as"].string ?? "", body: step["body"].string,
                metadata: try metadata.map { try RawJSON($0) }, createdAt: now.clock)
            session.send(draft, to: "c1")
        case "edit": change(id, .edit(body: step["body"].string, metadata: nil))
        case "delete": change(id, .delete)
        case "markRead": session.markRead("c1", upTo: step["seq"].int ?? 0)
        case "retry":
            session.retry(id, of: "c1")
            for change in written(of: id) { session.retryChange(change.id, of: "c1") }
        case "discard":
            session.discard(id, of: "c1")
            for change in written(of: id) { session.discardChange(change.id, of: "c1") }
        default: Issue.record("nobody does \(step["do"])")
        }
    }

    private mutating func change(_ message: String, _ kind: Change.Kind) {
        changes += 1
        session.change(Change(id: "change \(changes)", message: message, kind: kind), in: "c1")
    }

    private func written(of message: String) -> [Change] {
        session.changes(of: "c1").filter { $0.message == message }
    }

    /// Takes what the session does.
    private mutating func turn() throws {
        while true {
            let actions = session.takeActions()
            if actions.isEmpty { return }
            for action in actions {
                switch action {
                case .ask(let attempt, let isExpired):
                    self.attempt = attempt
                    wanted.append(isExpired)
                case .connect: connects += 1
                case .write(let text):
                    open.append(try JSONValue(parsing: text))
                    asked.append(try JSONValue(parsing: text))
                case .disconnect: open = []
                case .state(.waiting(let milliseconds, _)): retryIn = milliseconds
                default: break
                }
            }
        }
    }

    // MARK: What must be so

    mutating func check(_ step: JSONValue, _ at: Int) {
        #expect(wanted == (step["wants"] == .null ? [] : [step["wants"]["expired"] == true]))
        #expect(connects == (step["connects"] == true ? 1 : 0), "step \(at)")
        if let state = step["state"].string { #expect(name(session.state) == state, "step \(at)") }
        if let wait = step["retryIn"].int { #expect(retryIn == wait, "step \(at)") }
        if step["have"] != .null { #expect(have == step["have"], "step \(at)") }
        if step["drafts"] != .null {
            let drafts = session.drafts(of: "c1").map { draft -> JSONValue in
                let isSending = draft.state == .sending
                return [.string(draft.id), .string(isSending ? "sending" : "failed")]
            }
            #expect(.array(drafts) == step["drafts"], "step \(at)")
        }
        if step["edits"] != .null {
            let edits = session.changes(of: "c1").map { change -> JSONValue in
                [.string(change.message), .string(name(change.state))]
            }
            #expect(.array(edits) == step["edits"], "step \(at)")
        }
        guard let expected = step["asked"].array else { return }
        let made = asked.filter { $0["method"].string?.hasPrefix("fetch") != true }
        asked = []
        #expect(made.map { $0["method"] } == expected.map { $0["method"] }, "step \(at)")
        for (made, expected) in zip(made, expected) {
            for (name, value) in expected.object ?? [:] where name != "method" {
                #expect(made["params"][name] == value, "step \(at): \(name)")
            }
        }
    }

    private func name(_ state: ConnectionState) -> String {
        switch state {
        case .idle: "idle"
        case .connecting: "connecting"
        case .live: "live"
        case .waiting: "waiting"
        case .closed: "closed"
        }
    }

    private func name(_ state: Change.State) -> String {
        switch state {
        case .sending: "sending"
        case .failed: "failed"
        case .conflict: "conflict"
        }
    }

    private var have: JSONValue { session.holder(of: "c1")?.have?.json ?? .null }
}
