import Chat
import JSON
import enum TestSupport.JSONValue
import Testing
import Wire

@testable import ClientCore

/// A session of alice's, with a gateway that a test speaks for.
protocol SpokenFor {
    var session: ClientSession { get set }
    var now: Instant { get }
    /// What the session has asked and nobody has answered.
    var asked: [JSONObject] { get set }
}

extension SpokenFor {
    /// Does what the session wants done, and keeps what it asks.
    mutating func turn() throws {
        while true {
            let actions = session.takeActions()
            if actions.isEmpty { return }
            for action in actions {
                switch action {
                case .ask(let attempt, _):
                    session.credentials(.user("alice"), attempt: attempt, now)
                case .connect: session.opened(now)
                case .write(let text): asked.append(try JSONObject(text))
                default: break
                }
            }
        }
    }

    /// Takes the oldest request of a method.
    mutating func take(_ method: String) throws -> (id: Int, params: JSONObject) {
        let at = try #require(asked.firstIndex { $0["method"]?.string == method })
        let request = asked.remove(at: at)
        let params = request["params"]?.object ?? JSONObject(members: [])
        return (request["id"]?.int ?? 0, params)
    }

    mutating func answer(_ id: Int, _ answer: String) throws {
        session.received(Array("{\"id\":\(id),\(answer)}".utf8), now)
        try turn()
    }

    /// Answers the oldest request of a method.
    mutating func answer(_ method: String, _ answer: String) throws {
        try self.answer(try take(method).id, answer)
    }

    mutating func connect(inboundFrame: Int = 65_536) throws {
        session.open(now)
        session.wake(now)
        try turn()
        try answer(
            "connect",
            "\"result\":{\"user\":\"alice\",\"pingInterval\":25,"
                + "\"limits\":{\"inbound_frame\":\(inboundFrame)},"
                + "\"upstream\":{\"state\":\"online\"}}")
    }
}

extension Have {
    /// As the vectors write it.
    var json: JSONValue {
        let head: JSONValue = [
            "epoch": .string(head.epoch), "seq": .int(head.seq), "rev": .int(head.rev),
            "mark": .string(head.mark), "floor": .int(head.floor),
        ]
        let runs = runs.runs.map { JSONValue.array([.int($0.low), .int($0.high)]) }
        return ["head": head, "asOf": .int(asOf), "runs": .array(runs)]
    }
}
