import Chat
import Engine
import JSON
import Simulation
import Testing
import Wire

/// What becomes of a frame that its user has no budget for: it is refused before it is decoded, as
/// if it had been.
@Suite struct RefusalTests {
    private static var limits: Limits {
        var limits = Limits()
        limits.requestsPerSecond = 2
        limits.journal.bytes = 1 << 20
        limits.journal.age = 3_600_000
        return limits
    }

    /// A session whose budget is spent.
    private func spent() -> (rig: Rig, session: SessionID) {
        let rig = Rig(Self.limits)
        rig.create()
        let session = rig.connect("ann")
        for id in 2...4 { rig.send(session, id, "unsubscribeConversations") }
        _ = rig.take(session)
        return (rig, session)
    }

    @Test func itIsRefusedUnderItsOwnID() {
        let (rig, session) = spent()
        let list = (0..<4000).map { "\"u\($0)\"" }.joined(separator: ",")
        for (text, id) in [
            (#"{"id":5,"method":"fetchConversations","params":{}}"#, 5),
            (#"{"method":"fetchConversations","params":{"id":1},"id":6}"#, 6),
            (#"{"id":6,"params":{"id":1},"method":"fetchConversations","\u0069d":7}"#, 7),
            (#"{"params":{"participants":[\#(list)]},"method":"createConversation","id":8}"#, 8),
            (#"{"id":9,"method":"sendMessage","params":{"conversation":7}}"#, 9),
            (#"{"id":10,"method":"sendMessage","params":[]}"#, 10),
            (#"{"id":11,"method":"no such method"}"#, 11), (#"{"id":12}"#, 12),
            // Without an id that can be used, as any other answer.
            (#"{"id":"13","method":"fetchConversations"}"#, 0),
            (#"{"id":14,"method":"fetchConversations","params":{}"#, 0), ("[]", 0),
        ] {
            rig.receive(session, text)
            rig.turn()
            let frames = rig.take(session)
            #expect(frames.map(\.id) == [id], "\(text.prefix(100))")
            #expect(frames.map(\.errorCode) == ["rate_limited"], "\(text.prefix(100))")
        }
    }

    @Test func itsRunsAreAskedForInFull() {
        var limits = Limits()
        limits.requestsPerSecond = 20
        let rig = Rig(limits)
        rig.create()
        let session = rig.connect("ann")
        for id in 2...40 { rig.send(session, id, "unsubscribeConversations") }
        _ = rig.take(session)
        let runs = (0..<200).map { "[\(2 * $0 + 1),\(2 * $0 + 1)]" }.joined(separator: ",")
        let have = #"{"head":{"epoch":"e","seq":9,"rev":9,"mark":"m"},"asOf":9,"runs":[\#(runs)]}"#
        rig.send(session, 50, "findBoundaries", #""conversation":"c1","have":\#(have)"#)
        rig.send(session, 51, "fetchConversations")
        let frames = rig.take(session)
        // 1 and 9 more for the runs: half a second at 20 a second.
        #expect(frames.map { $0["error"]?.object?["after"]?.int } == [500, 50])
    }

    @Test(arguments: [false, true])
    func theJournalTellsOfIt(isDecoded: Bool) {
        let (rig, session) = spent()
        rig.isDecodingElsewhere = isDecoded
        rig.send(session, 5, "sendMessage", #""conversation":"c1","id":"m1","body":"secret""#)
        let refused = rig.explain(id: "m1")
        #expect(refused.fate == .refused)
        #expect(refused.steps.map(\.what) == ["accepted", "refused"])
        #expect(refused.steps.last?.facts[0].value == .text("rate_limited"))
        #expect(!"\(refused)".contains("secret"))
        rig.send(session, 6, "editMessage", #""conversation":"c1","id":"m2","body":"x""#)
        #expect(rig.explain(id: "m2").fate == .refused)
    }

    @Test func ofAFrameThatIsNoRequestTheJournalTellsWhatItCan() {
        let (rig, session) = spent()
        rig.send(session, 5, "sendMessage", #""conversation":"c1","id":"m1","body":7"#)
        #expect(rig.explain(id: "m1").fate == .refused)
        rig.send(session, 6, "sendMessage", #""id":"m2","body":"x""#)
        #expect(rig.explain(id: "m2").fate == .unknown)
    }

    @Test func theLogTellsOfItByItsTrace() {
        var limits = Self.limits
        limits.requestsPerSecond = 1
        let rig = Rig(limits)
        rig.create()
        let session = rig.open()
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        rig.send(session, 1, "connect", #""user":"ann","traceparent":"\#(trace)""#)
        for id in 2...4 { rig.send(session, id, "unsubscribeConversations") }
        _ = rig.engine.takeTracedCalls()
        rig.send(session, 5, "sendMessage", #""conversation":"c1","id":"m1","body":"secret""#)
        let calls = rig.engine.takeTracedCalls()
        #expect(calls.map(\.method) == [.sendMessage] && calls.map(\.conversation) == ["c1"])
        #expect(calls.map { $0.error?.code } == [.rateLimited])
    }

    /// Random requests at a rate that allows for every other one, to an engine that decodes them
    /// itself and to one that is handed them decoded.
    @Test func eitherDecoderGivesTheSameAnswers() {
        var answers: [String?: Int] = [:]
        for seed in UInt64(1)...60 {
            var random = SplitMix64(seed)
            let rigs = [Rig(Self.limits), Rig(Self.limits)]
            rigs[1].isDecodingElsewhere = true
            for rig in rigs { rig.create() }
            let sessions = rigs.map { $0.connect("ann") }
            for id in 2...60 {
                let text = Self.frame(id, &random)
                let pause = Int64.random(in: 0...400, using: &random)
                let frames = zip(rigs, sessions).map { rig, session -> [JSONObject] in
                    rig.receive(session, text)
                    rig.now.milliseconds += pause
                    rig.turn()
                    return rig.take(session)
                }
                #expect(
                    frames[0].map(\.bytes) == frames[1].map(\.bytes), "seed \(seed): \(text)")
                for frame in frames[0] { answers[frame.errorCode, default: 0] += 1 }
            }
        }
        for code in [nil, "rate_limited", "bad_request", "too_large"] as [String?] {
            #expect(answers[code] ?? 0 > 50, "\(answers)")
        }
    }

    private static func frame(_ id: Int, _ random: inout SplitMix64) -> String {
        let runs = (0..<100).map { "[\(2 * $0 + 1),\(2 * $0 + 1)]" }.joined(separator: ",")
        let many = Array(repeating: "\"u\"", count: 1001).joined(separator: ",")
        let head = #"{"epoch":"e","seq":9,"rev":9,"mark":"m"}"#
        let (method, params) =
            [
                ("fetchConversation", #"{"conversation":"c1"}"#), ("fetchConversations", "{}"),
                ("fetchConversation", #"{"conversation":7}"#), ("markRead", "[]"),
                ("sendMessage", #"{"conversation":"c1","body":7}"#), ("nothing", "{}"),
                ("addParticipants", #"{"conversation":"c1","users":[\#(many)]}"#),
                ("addParticipants", #"{"users":[\#(many)],"conversation":"c1"}"#),
                (
                    "findBoundaries",
                    #"{"conversation":"c1","have":{"head":\#(head),"asOf":9,"runs":[\#(runs)]}}"#
                ),
                ("findBoundaries", #"{"conversation":"c1","have":{"runs":[\#(runs)]}}"#),
            ].randomElement(using: &random) ?? ("", "")
        return Bool.random(using: &random)
            ? #"{"id":\#(id),"method":"\#(method)","params":\#(params)}"#
            : #"{"params":\#(params),"\u0069d":\#(id),"method":"\#(method)"}"#
    }
}
