import Glibc

/// The server API of a running gateway, as a backend uses it. What it learns of each log goes into
/// `truths`, for the oracle.
package final class ServerAPI {
    /// An answer that is no success.
    package struct Refused: Error, Sendable {
        package var status: Int
        package var code: String
        package var message: String
        package var retry: String
    }

    package let http: HTTPConnection
    /// By conversation.
    package private(set) var truths: [String: Truth] = [:]
    /// Whether what is written enters `truths`. Where the origin may lose it, it does not: it is
    /// only known afterwards which log it was in.
    private let learnsWrites: Bool

    package init(port: Int, apiKey: String, learnsWrites: Bool = true) {
        self.learnsWrites = learnsWrites
        http = HTTPConnection(port: port)
        http.standingHeaders["Authorization"] = "Bearer \(apiKey)"
    }

    /// - Throws: `Refused` where the answer is no success, `TestFailure` where none comes.
    @discardableResult
    package func call(
        _ method: String, _ path: String, _ body: JSONValue? = nil
    ) throws -> JSONValue {
        let response =
            if let body {
                try http.send(method, path, json: body)
            } else {
                try http.send(method, path)
            }
        let json = response.json
        guard (200..<300).contains(response.status) else {
            let error = json["error"]
            throw Refused(
                status: response.status, code: error["code"].string ?? "",
                message: error["message"].string ?? "", retry: error["retry"].string ?? "")
        }
        return json
    }

    /// Makes the call until it is answered, also by a gateway that is not there for a while.
    ///
    /// - Parameter onRefusal: called before it is made again.
    /// - Throws: `Refused`, where the answer is another one than that the origin can't be reached;
    ///   the last failure, where that goes on for a minute.
    @discardableResult
    package static func insist<Answer>(
        onRefusal: () -> Void = {}, _ call: () throws -> Answer
    ) throws -> Answer {
        // Longer than what an application may hold in the way.
        let deadline = Deadline.after(.seconds(90))
        while true {
            do {
                return try call()
            } catch let error as Refused {
                guard error.code == "origin_unavailable", !deadline.isOver else { throw error }
            } catch let error as TestFailure {
                guard !deadline.isOver else { throw error }
            }
            onRefusal()
            usleep(20_000)
        }
    }

    // MARK: Writing

    /// Creates the conversation or changes the given fields.
    @discardableResult
    package func put(_ id: String, _ fields: JSONValue) throws -> JSONValue {
        let record = try call("PUT", path(id), fields)["conversation"]
        try learn(record: record, of: id)
        return record
    }

    package func deleteConversation(_ id: String) throws { try call("DELETE", path(id)) }

    package func add(_ user: String, to id: String) throws {
        try call("PUT", "\(path(id))/participants/\(Self.escaped(user))", [:])
        try learnRecord(of: id)
    }

    package func remove(_ user: String, from id: String) throws {
        try call("DELETE", "\(path(id))/participants/\(Self.escaped(user))")
        try learnRecord(of: id)
    }

    @discardableResult
    package func post(_ message: JSONValue, to id: String) throws -> JSONValue {
        let stored = try call("POST", "\(path(id))/messages", message)["message"]
        try learn([stored], of: id)
        return stored
    }

    /// Writes all of them in one transaction.
    @discardableResult
    package func post(_ messages: [JSONValue], to id: String) throws -> [JSONValue] {
        let answer = try call("POST", "\(path(id))/messages", .array(messages))
        let stored = answer["messages"].array ?? []
        try learn(stored, of: id)
        return stored
    }

    @discardableResult
    package func edit(_ message: String, in id: String, _ fields: JSONValue) throws -> JSONValue {
        let path = "\(path(id))/messages/\(Self.escaped(message))"
        let stored = try call("PATCH", path, fields)["message"]
        try learn([stored], of: id)
        return stored
    }

    @discardableResult
    package func delete(_ message: String, in id: String) throws -> JSONValue {
        let path = "\(path(id))/messages/\(Self.escaped(message))"
        let stored = try call("DELETE", path)["message"]
        try learn([stored], of: id)
        return stored
    }

    // MARK: Reading

    package func conversation(_ id: String) throws -> JSONValue {
        try call("GET", path(id))["conversation"]
    }

    package func page(_ id: String, _ query: String) throws -> JSONValue {
        try call("GET", "\(path(id))/messages?\(query)")
    }

    // MARK: The truth

    package func truth(of id: String) -> Truth { truths[id] ?? Truth() }

    /// Adds what somebody else wrote, e.g. a client's own `sendMessage`.
    package func learn(_ messages: [JSONValue], of id: String) throws {
        guard learnsWrites else { return }
        let epoch = try epoch(of: id)
        for message in messages {
            try truths[id, default: Truth()].learn(message: message, epoch: epoch)
        }
    }

    /// Reads the log from its beginning to its end: the newest value of every slot.
    @discardableResult
    package func learnChanges(of id: String) throws -> Truth {
        var since = 0
        while true {
            let answer = try call("GET", "\(path(id))/changes?since=\(since)&limit=1000")
            try truths[id, default: Truth()].learn(head: answer["head"])
            let epoch = answer["head"]["epoch"].string ?? ""
            for message in answer["messages"].array ?? [] {
                try truths[id]?.learn(message: message, epoch: epoch)
            }
            if !answer["conversation"].isNull {
                try truths[id]?.learn(record: answer["conversation"], epoch: epoch)
            }
            let upTo: Int = try answer.required("upTo")
            guard answer["more"].bool == true else { return truth(of: id) }
            guard upTo > since else { throw TestFailure("changes: upTo stays at \(upTo)") }
            since = upTo
        }
    }

    private func learn(record: JSONValue, of id: String) throws {
        guard learnsWrites else { return }
        if !record["head"].isNull { try truths[id, default: Truth()].learn(head: record["head"]) }
        let epoch = try epoch(of: id)
        try truths[id, default: Truth()].learn(record: record, epoch: epoch)
    }

    private func learnRecord(of id: String) throws {
        guard learnsWrites else { return }
        try learn(record: try conversation(id), of: id)
    }

    private func epoch(of id: String) throws -> String {
        if let known = truths[id]?.epoch { return known }
        let head = try call("POST", "/v1/heads", ["ids": [.string(id)]])["heads"][id]
        try truths[id, default: Truth()].learn(head: head)
        return head["epoch"].string ?? ""
    }

    private func path(_ id: String) -> String { "/v1/conversations/\(Self.escaped(id))" }

    package static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let scalar = Unicode.Scalar(byte)
            let isPlain =
                byte < 0x80 && (scalar.properties.isAlphabetic || (48...57).contains(byte))
            return isPlain || "-._~".unicodeScalars.contains(scalar)
                ? String(scalar) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
