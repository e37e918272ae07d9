import Ports
import JSON
import Rules
import Wire

/// A log that can be asked to write: that of an upstream, or the simulator's model.
package protocol RuledLog {
    func perform(_ operation: Operation, by caller: Caller) throws -> Outcome
    func adopt(_ limits: LogLimits)
}

extension RuledLog {
    fileprivate func result(
        of operation: Operation, by caller: Caller
    ) -> Result<Outcome, RequestError> {
        Result { try perform(operation, by: caller) }
            .mapError { $0 as? RequestError ?? .originUnavailable }
    }
}

/// One rule of a chat backend, told as calls and what comes of each. Every log is asked the same:
/// what one of them decides otherwise shows here.
package struct RuleCase: Sendable, CustomStringConvertible {
    /// What is expected of a call.
    package enum Expectation: Sendable {
        case done
        /// The conversation, with so many who took part.
        case removed(people: Int)
        /// Refused for this reason, and with a message in which all of these occur.
        case refused(RequestError.Reason, naming: [String] = [])
        /// Refused as `conflict`, with the value as it is for which this holds.
        case conflict(@Sendable (JSONObject) -> Bool)
        /// Answered with the message for which this holds, as JSON.
        case message(@Sendable (JSONObject) -> Bool)
        /// Answered with the message for which this holds, and with one's own keys.
        case reacted([String], @Sendable (JSONObject) -> Bool)
        /// Answered with the conversation for which this holds.
        case conversation(@Sendable (ConversationView) -> Bool)
    }

    enum Step: Sendable {
        case limits(LogLimits)
        case call(Operation, Caller, Expectation)
    }

    package let description: String
    private(set) var steps: [Step] = []

    init(_ description: String) { self.description = description }

    /// The same with other limits from here on.
    func limits(_ change: (inout LogLimits) -> Void) -> RuleCase {
        var limits = LogLimits()
        change(&limits)
        return adding(.limits(limits))
    }

    /// The same with one more call.
    func call(
        _ operation: Operation, by caller: Caller = .server, _ expectation: Expectation = .done
    ) -> RuleCase {
        adding(.call(operation, caller, expectation))
    }

    private func adding(_ step: Step) -> RuleCase {
        var copy = self
        copy.steps.append(step)
        return copy
    }

    /// What the log does otherwise; empty if it keeps the rule.
    package func faults(of log: some RuledLog) -> [String] {
        var faults: [String] = []
        for (number, step) in steps.enumerated() {
            switch step {
            case .limits(let limits): log.adopt(limits)
            case .call(let operation, let caller, let expectation):
                let result = log.result(of: operation, by: caller)
                if let fault = expectation.fault(in: result) {
                    faults.append("\(description), step \(number + 1): \(fault)")
                }
            }
        }
        log.adopt(LogLimits())
        return faults
    }
}

extension RuleCase.Expectation {
    func fault(in result: Result<Outcome, RequestError>) -> String? {
        switch (self, result) {
        case (.done, .success): return nil
        case (.removed(let expected), .success(.removed(let people))) where expected == people:
            return nil
        case (.refused(let reason, let words), .failure(let error)):
            guard error.reason == reason else { return "\(error)" }
            let missing = words.filter { !error.message.contains($0) }
            return missing.isEmpty ? nil : "\(error.message) does not name \(missing)"
        case (.conflict(let holds), .failure(let error)):
            guard error.code == .conflict, let current = error.current?.object else {
                return "\(error.code): \(error.message), current: \(error.current != nil)"
            }
            return holds(current) ? nil : String(decoding: current.bytes, as: UTF8.self)
        case (.message(let holds), .success(.messages(let messages, _, _))):
            guard let object = messages.first.flatMap({ try? JSONObject($0.json) }) else {
                return "no message"
            }
            return holds(object) ? nil : String(decoding: object.bytes, as: UTF8.self)
        case (.reacted(let keys, let holds), .success(.reacted(let message, let own, _))):
            guard let object = try? JSONObject(message.json) else { return "no message" }
            guard own == keys else { return "own: \(own)" }
            return holds(object) ? nil : String(decoding: object.bytes, as: UTF8.self)
        case (.conversation(let holds), .success(.conversation(let view, _))):
            return holds(view) ? nil : "\(view.record)"
        case (_, .success(let outcome)): return "done: \(outcome)"
        case (_, .failure(let error)): return "refused: \(error.code) \(error.message)"
        }
    }
}

extension JSONMember {
    /// A member with a text of so many bytes, the quotes not counted.
    static func text(_ key: String, _ bytes: Int) -> JSONMember {
        JSONMember(key: key, value: RawJSON(string: String(repeating: "x", count: bytes)))
    }

    /// A member that takes the field of this name away.
    static func null(_ key: String) -> JSONMember { JSONMember(key: key, value: .null) }
}

/// Short forms; where none is named, of `c1`.
extension Operation {
    static func send(
        _ id: String? = nil, _ body: String = "x", by author: String, to conversation: String = "c1"
    ) -> Operation {
        let content = MessageContent(id: id, body: body)
        return .send(conversation: conversation, [NewMessage(author: author, content: content)])
    }

    static func edit(_ id: String, _ body: String, ifRev: Int? = nil) -> Operation {
        .edit(conversation: "c1", id: id, MessageEdit(body: body, ifRev: ifRev))
    }

    static func react(
        _ key: String, _ isOn: Bool = true, of user: String? = nil, to id: String = "m1"
    ) -> Operation {
        .react(conversation: "c1", id: id, ReactionCall(key: key, isOn: isOn, user: user))
    }

    static func delete(
        _ id: String, in conversation: String = "c1", ifRev: Int? = nil
    ) -> Operation {
        .delete(conversation: conversation, id: id, ifRev: ifRev)
    }

    static func add(_ users: String..., to conversation: String = "c1") -> Operation {
        .addParticipants(conversation: conversation, users.map { NewParticipant(user: $0) })
    }

    static func remove(_ users: String...) -> Operation {
        .removeParticipants(conversation: "c1", users)
    }

    static func update(
        _ title: String, _ conversation: String = "c1", ifRev: Int? = nil
    ) -> Operation {
        .update(conversation: conversation, ConversationFields(title: title, ifRev: ifRev))
    }

    static func read(_ seq: Int) -> Operation {
        .markRead(conversation: "c1", seq: seq)
    }
}
