import Chat
import Engine
import JSON
import WebSockets
import Wire

/// The answer to `/explain`, as JSON and as text: ids, numbers and times, never a message's
/// content.
struct ExplainReport {
    let explanation: Explanation
    /// The public name of a connection: `session` in the answer to `connect`.
    let name: (SessionID) -> String

    func response(isText: Bool) -> HTTPResponse {
        guard isText else { return .json(200, json) }
        return HTTPResponse(
            status: 200,
            headers: [
                .init("Content-Type", "text/plain; charset=utf-8"),
                .init("Cache-Control", "no-store"), .init("X-Content-Type-Options", "nosniff"),
            ], body: Array(text.utf8))
    }

    private func shown(_ fact: (name: String, value: Explanation.Fact)) -> String {
        switch fact.value {
        case .text(let text): text
        case .number(let number): fact.name == "session" ? name(UInt64(number)) : String(number)
        }
    }

    // MARK: - JSON

    var json: [UInt8] {
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        json.member("conversation", string: explanation.conversation)
        json.key("seq")
        if let seq = explanation.seq { json.int(seq) } else { json.null() }
        json.key("id")
        if let id = explanation.id { json.string(id) } else { json.null() }
        json.member("fate", string: explanation.fate.rawValue)
        json.member("meaning", string: explanation.fate.meaning)
        json.object("origin") { origin(&$0) }
        json.object("journal") {
            $0.key("begins")
            if let begins = explanation.begins {
                $0.string(begins.description)
            } else {
                $0.null()
            }
        }
        json.key("steps")
        steps(explanation.steps, &json)
        json.object("counts") {
            for fate in Fate.allCases {
                if let count = explanation.counts[fate] { $0.member(fate.rawValue, int: count) }
            }
        }
        json.key("readers")
        json.beginArray()
        for reader in explanation.readers {
            json.beginObject()
            json.key("session")
            if let session = reader.session { json.string(name(session)) } else { json.null() }
            json.member("user", string: reader.user)
            json.member("connected", bool: reader.isConnected)
            json.member("subscribed", bool: reader.isSubscribed)
            json.member("fate", string: reader.fate.rawValue)
            json.member("meaning", string: reader.fate.meaning)
            json.key("at")
            if let at = reader.at { json.string(at.description) } else { json.null() }
            json.key("steps")
            steps(reader.steps, &json)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }

    private func origin(_ json: inout JSONWriter) {
        switch explanation.origin {
        case .message(let message):
            json.member("state", string: "present")
            json.member("rev", int: message.rev)
            json.member("author", string: message.author)
            json.member("createdAt", string: message.createdAt.description)
            json.member("deleted", bool: message.isDeleted)
        case .none: json.member("state", string: "absent")
        case .unasked: json.member("state", string: "unasked")
        case .away(let reason):
            json.member("state", string: "away")
            json.member("reason", string: reason)
        }
    }

    private func steps(_ steps: [Explanation.Step], _ json: inout JSONWriter) {
        json.beginArray()
        for step in steps {
            json.beginObject()
            json.member("at", string: step.at.description)
            json.member("what", string: step.what)
            for fact in step.facts {
                if case .number(let number) = fact.value, fact.name != "session" {
                    json.member(fact.name, int: number)
                } else {
                    json.member(fact.name, string: shown(fact))
                }
            }
            json.endObject()
        }
        json.endArray()
    }

    // MARK: - Text

    var text: String {
        let place = explanation.seq.map { "message \($0)" } ?? "message"
        let id = explanation.id.map { " (id \($0))" } ?? ""
        var text = "\(place)\(id) of conversation \(explanation.conversation)\n"
        text += "\(explanation.fate.rawValue): \(explanation.fate.meaning)\n"
        switch explanation.origin {
        case .message(let message):
            text += "origin: by \(message.author), created \(message.createdAt), "
            text += "rev \(message.rev)\(message.isDeleted ? ", deleted" : "")\n"
        case .none: text += "origin: has no such message\n"
        case .unasked: break
        case .away(let reason): text += "origin: could not be asked: \(reason)\n"
        }
        if let begins = explanation.begins {
            text += "the journal begins at \(begins)\n"
        } else {
            text += "there is no journal: journal.bytes is 0\n"
        }
        if !explanation.steps.isEmpty { text += "\n" + lines(explanation.steps, indent: "") }
        let counts = Fate.allCases.compactMap { fate in
            explanation.counts[fate].map { "\($0) \(fate.rawValue)" }
        }
        text += counts.isEmpty ? "\nno readers\n" : "\nreaders: \(counts.joined(separator: ", "))\n"
        for reader in explanation.readers {
            let session = reader.session.map { " \(name($0))" } ?? ""
            let state =
                reader.isSubscribed
                ? "watches now" : reader.isConnected ? "connected" : "not connected"
            text += "\n\(reader.user)\(session) (\(state))\n"
            text += "  \(reader.fate.rawValue): \(reader.fate.meaning)\n"
            text += lines(reader.steps, indent: "  ")
        }
        return text
    }

    private func lines(_ steps: [Explanation.Step], indent: String) -> String {
        steps.map { step in
            let facts = step.facts.map { " \($0.name)=\(shown($0))" }.joined()
            return "\(indent)\(step.at) \(step.what)\(facts)\n"
        }.joined()
    }
}
