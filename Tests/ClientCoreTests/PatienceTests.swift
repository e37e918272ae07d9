import Chat
import JSON
import Testing
import Wire

@testable import ClientCore

/// What is asked more often than the gateway allows is asked again when it said.
@Suite struct PatienceTests: SpokenFor {
    var session = ClientSession(.init { 0.5 })
    var now = Instant(monotonic: 0, clock: Timestamp(milliseconds: 1_700_000_000_000))
    var asked: [JSONObject] = []
    private var answers: [Int: String] = [:]

    private static let limited =
        "\"error\":{\"code\":\"rate_limited\",\"retry\":\"later\",\"after\":2000}"

    private mutating func look() throws {
        while true {
            let actions = session.takeActions()
            if actions.isEmpty { return }
            for action in actions {
                switch action {
                case .write(let text): asked.append(try JSONObject(text))
                case .answer(let number, _, .success(let answer)):
                    #expect(answers[number] == nil)
                    answers[number] = answer["n"]?.int.map { "\($0)" }
                case .answer(let number, _, .failure(let error)):
                    #expect(answers[number] == nil)
                    answers[number] = "\(error)"
                default: break
                }
            }
        }
    }

    private mutating func ask(_ count: Int) throws {
        for number in 1...count {
            session.request(number, "fetchConversation", RequestParams(conversation: "c\(number)"))
        }
        try look()
    }

    private mutating func reply(_ answer: (String) -> String) throws {
        let request = asked.removeFirst()
        let name = request["params"]?.object?["conversation"]?.string ?? ""
        let text = "{\"id\":\(request["id"]?.int ?? 0),\(answer(name))}"
        session.received(Array(text.utf8), now)
        try look()
    }

    @Test mutating func eachQuestionIsAnsweredInTheEnd() throws {
        try connect()
        try ask(100)
        #expect(asked.count == 100)
        for _ in 0..<40 { try reply { "\"result\":{\"n\":\($0.dropFirst())}" } }
        for _ in 0..<60 { try reply { _ in Self.limited } }
        // Nothing more is asked before it is time.
        #expect(asked.isEmpty && answers.count == 40)
        session.request(101, "fetchConversation", RequestParams(conversation: "c101"))
        try look()
        #expect(asked.isEmpty)
        #expect(session.nextAlarm == 2_000)
        now.monotonic += 2_000
        session.tick(now)
        try look()
        #expect(asked.count == 1)
        var turns = 0
        while !asked.isEmpty {
            turns += 1
            try reply { "\"result\":{\"n\":\($0.dropFirst())}" }
        }
        #expect(turns == 61 && answers.count == 101)
        #expect(answers.allSatisfy { $1 == "\($0)" })
    }

    @Test mutating func whatWaitsFailsWithTheSession() throws {
        try connect()
        try ask(3)
        for _ in 0..<3 { try reply { _ in Self.limited } }
        session.closed(code: nil, now)
        try look()
        #expect(answers.count == 3)
        #expect(answers.values.allSatisfy { $0 == "\(ClientError.disconnected)" })
    }
}
