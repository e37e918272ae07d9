import Chat
import JSON
import Testing
import Wire

@testable import ClientCore

/// What the gateway could not take, or not answer, is not sent; and nothing waits for it.
@Suite struct UnsendableTests: SpokenFor {
    var session = ClientSession(.init { 0.5 })
    var now = Instant(monotonic: 0, clock: Timestamp(milliseconds: 1_700_000_000_000))
    var asked: [JSONObject] = []

    private func draft(_ id: String, _ body: String, _ metadata: RawJSON? = nil) -> Draft {
        Draft(id: id, body: body, metadata: metadata, createdAt: now.clock)
    }

    private func code(of draft: String) -> ErrorCode? {
        guard let draft = session.drafts(of: "c").first(where: { $0.id == draft }),
            case .failed(let error) = draft.state
        else { return nil }
        return error.code
    }

    private static let long = String(repeating: "x", count: 66_000)

    @Test(arguments: [true, false])
    mutating func aTextAboveTheFrameFailsAndCanBeShortened(_ isConnected: Bool) throws {
        if isConnected { try connect() }
        session.send(draft("long", Self.long), to: "c")
        session.send(draft("short", "hi"), to: "c")
        // Before the gateway has said how much it takes, nobody knows.
        #expect(code(of: "long") == (isConnected ? .tooLarge : nil))
        if !isConnected { try connect() }
        try turn()
        #expect(code(of: "long") == .tooLarge)
        #expect(try take("sendMessage").params["id"]?.string == "short")
        #expect(asked.isEmpty)
        // Trying it again helps nobody, and costs nobody the connection.
        session.retry("long", of: "c")
        try turn()
        #expect(code(of: "long") == .tooLarge && asked.isEmpty)
        session.rewrite("long", as: "shorter", body: "less", in: "c", now)
        try answer(1_000, "\"result\":{}")
        #expect(session.drafts(of: "c").map(\.id) == ["short", "shorter"])
    }

    @Test mutating func anEditAboveTheFrameFailsAndCanBeShortened() throws {
        try connect()
        session.change(
            Change(id: "e", message: "m", kind: .edit(body: Self.long, metadata: nil)), in: "c")
        session.change(Change(id: "d", message: "n", kind: .delete), in: "c")
        try turn()
        guard case .failed(let error) = session.changes(of: "c").first?.state else {
            Issue.record("it is to be sent")
            return
        }
        #expect(error.code == .tooLarge)
        try answer("deleteMessage", "\"error\":{\"code\":\"not_found\",\"retry\":\"never\"}")
        session.rewriteChange("e", body: "less", of: "c")
        try turn()
        #expect(try take("editMessage").params["body"]?.string == "less")
    }

    /// Deeper than the gateway reads: it would answer without an id.
    @Test mutating func whatTheGatewayCanNotReadIsNotSent() throws {
        try connect()
        let deep = String(repeating: "[", count: 63) + String(repeating: "]", count: 63)
        session.send(draft("deep", "hi", try RawJSON(Array(deep.utf8))), to: "c")
        session.send(draft("flat", "hi"), to: "c")
        try turn()
        #expect(code(of: "deep") == .badRequest)
        #expect(try take("sendMessage").params["id"]?.string == "flat")
    }

    @Test mutating func aQuestionAboveTheFrameIsAnswered() throws {
        try connect()
        var params = RequestParams()
        params.set("title", Self.long)
        session.request(1, "createConversation", params)
        let answers = session.takeActions().compactMap { action -> ErrorCode? in
            guard case .answer(1, false, .failure(.refused(let error))) = action else { return nil }
            return error.code
        }
        #expect(answers == [.tooLarge])
    }

    /// Of what is held in many pieces, no frame may have room to say so.
    @Test mutating func aResumeAboveTheFrameBeginsAnew() throws {
        let runs = Coverage((1...400).map { Coverage.Run($0 * 2, $0 * 2) })
        let values = (1...400).map {
            Message(
                id: "m\($0)", conversation: "c", seq: $0 * 2, rev: $0 + 1, author: "a",
                createdAt: .earliest)
        }
        let head = Head(epoch: "e", seq: 800, rev: 801, mark: "x")
        session.restore(
            "c", Holder(Have(head: head, asOf: 801, runs: runs), values: values, record: nil), [])
        session.subscribe(to: "c")
        try connect(inboundFrame: 2_000)
        let params = try take("subscribeMessages").params
        #expect(params["have"] == nil && params["conversation"]?.string == "c")
    }

    /// An error without an id belongs to the oldest request that has no answer yet.
    @Test mutating func anErrorWithoutAnIDFailsTheOldest() throws {
        try connect()
        session.send(draft("a", "hi"), to: "c")
        session.send(draft("b", "hi"), to: "c")
        try turn()
        #expect(try take("sendMessage").params["id"]?.string == "a")
        try answer(0, "\"error\":{\"code\":\"bad_request\",\"message\":\"\",\"retry\":\"never\"}")
        #expect(code(of: "a") == .badRequest)
        #expect(try take("sendMessage").params["id"]?.string == "b")
    }
}
