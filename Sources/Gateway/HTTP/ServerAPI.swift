import Chat
import Engine
import JSON
import Ports
import Rules
import Wire

/// The server API of `protocol.md` 7 as a pure function: from method, path, query and body to a
/// call. No socket, no state; the gateway calls the upstream and answers.
package struct ServerAPI: Sendable {
    /// The call that a request makes.
    package enum Call: Sendable, Hashable {
        /// `atLeast`: a change that the answer must not miss.
        case ask(HistoryQuery, atLeast: Head? = nil)
        case perform(Operation, Shape)
        case boundaries(String)
        case gaps
        /// Whether these users are there.
        case presence([String])
        /// The same of all who take part.
        case presences(conversation: String)
        case disconnect(user: String, mayComeBack: Bool)
    }

    /// The form of the answer to a write.
    package enum Shape: Sendable, Hashable {
        case message, messages, conversation, nothing
        /// The conversation that was put, and who created it if a client did.
        case put
    }

    /// Why a request is refused.
    package enum Failure: Error, Hashable {
        case error(RequestError)
        /// The path exists, but not with this method.
        case method(allowed: [String])
    }

    /// The limits of sent messages.
    package let limits: LogLimits
    /// How many users one question of presence may name.
    package let presentUsers: Int
    /// Messages in one array: `protocol.md` 7.
    static let arrayLimit = 1000

    package init(limits: LogLimits, presentUsers: Int = 1000) {
        self.limits = limits
        self.presentUsers = presentUsers
    }

    /// - Parameters:
    ///   - path: percent-encoded, as received.
    ///   - query: after the `?`, percent-encoded; may be empty.
    package func call(method: String, path: String, query: String, body: [UInt8]) throws(Failure)
        -> Call
    {
        let pieces = try pieces(of: path)
        let query = try QueryString(query)
        guard pieces.first == "v1" else { throw Self.noPath }
        do {
            switch pieces.dropFirst().first {
            case "conversations":
                return try conversations(method, Array(pieces.dropFirst(2)), query, body)
            case "heads" where pieces.count == 2:
                try only(method, "POST")
                return .ask(.heads(try heads(body)))
            case "presence" where pieces.count == 2:
                try only(method, "GET", "HEAD")
                return .presence(try query.users(atMost: presentUsers))
            case "gaps" where pieces.count == 2:
                try only(method, "GET", "HEAD")
                return .gaps
            case "users" where pieces.count == 4 && pieces[3] == "disconnect":
                try only(method, "POST")
                return try disconnect(pieces[2], body)
            default:
                throw Self.noPath
            }
        } catch let failure as Failure {
            throw failure
        } catch let error as RequestError {
            throw .error(error)
        } catch {
            throw .error(RequestError(.internalFault, "the request could not be read"))
        }
    }

    private static let noPath = Failure.error(RequestError(.pathNotFound, "path: not found"))

    private func only(_ method: String, _ allowed: String...) throws(Failure) {
        guard allowed.contains(method) else { throw .method(allowed: allowed) }
    }

    /// The decoded pieces of the path. An empty piece, as in `//`, matches no path of ours.
    private func pieces(of path: String) throws(Failure) -> [String] {
        var pieces: [String] = []
        for piece in path.utf8.dropFirst().split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        {
            guard let decoded = PercentEncoding.decode(Array(piece)) else {
                throw .error(RequestError(.malformed, "path: is not percent-encoded UTF-8"))
            }
            pieces.append(decoded)
        }
        return pieces
    }

    // MARK: - Conversations

    private func conversations(
        _ method: String, _ rest: [String], _ query: QueryString, _ body: [UInt8]
    ) throws -> Call {
        guard let first = rest.first else {
            try only(method, "GET", "HEAD")
            guard let user = query["user"] else {
                throw RequestError(.fieldMissing, "user: missing, the id of a user is needed")
            }
            return .ask(
                .conversations(
                    user: try identifier(user, "user"), limit: try query.limit(),
                    cursor: query["cursor"]))
        }
        let id = try identifier(first, "path: the conversation's id")
        switch (rest.count, rest.dropFirst().first) {
        case (1, _):
            return try conversation(method, id, query, body)
        case (2, "messages"):
            return try messages(method, id, query, body)
        case (3, "messages"):
            return try message(
                method, id, try identifier(rest[2], "path: the message's id"), query, body)
        case (6, "messages") where rest[3] == "reactions":
            try only(method, "PUT", "DELETE")
            return try reaction(
                isOn: method == "PUT", to: try identifier(rest[2], "path: the message's id"),
                in: id, of: try identifier(rest[4], "path: the user's id"), key: rest[5])
        case (2, "changes"):
            try only(method, "GET", "HEAD")
            return .ask(
                .changes(
                    conversation: id,
                    since: try query.integer("since", in: 0...QueryString.largest) ?? 0,
                    mark: query["mark"], limit: try query.limit()),
                atLeast: try query.atLeast())
        case (2, "participants"):
            try only(method, "GET", "HEAD")
            return .ask(
                .participants(conversation: id, try query.participants()),
                atLeast: try query.atLeast())
        case (3, "participants"):
            let user = try identifier(rest[2], "path: the user's id")
            try only(method, "PUT", "DELETE")
            if method == "DELETE" {
                return .perform(.removeParticipants(conversation: id, [user]), .conversation)
            }
            let fields = try ParticipantFields.decode(try object(body, orEmpty: true), prefix: "")
            let participant = NewParticipant(
                user: user, name: fields.name, metadata: fields.metadata, unknown: fields.unknown)
            return .perform(
                .addParticipants(conversation: id, [participant]), .conversation)
        case (2, "presence"):
            try only(method, "GET", "HEAD")
            return .presences(conversation: id)
        case (2, "boundaries"):
            try only(method, "GET", "HEAD")
            return .boundaries(id)
        default:
            throw Self.noPath
        }
    }

    private func conversation(
        _ method: String, _ id: String, _ query: QueryString, _ body: [UInt8]
    ) throws -> Call {
        switch method {
        case "GET", "HEAD":
            return .ask(.conversation(id), atLeast: try query.atLeast())
        case "PUT":
            let fields = try ConversationFields.decode(try object(body, orEmpty: true), prefix: "")
            return .perform(.put(id: id, fields), .put)
        case "DELETE":
            return .perform(.deleteConversation(id), .nothing)
        default:
            throw Failure.method(allowed: ["GET", "HEAD", "PUT", "DELETE"])
        }
    }

    // MARK: - Messages

    private func messages(
        _ method: String, _ conversation: String, _ query: QueryString, _ body: [UInt8]
    ) throws -> Call {
        switch method {
        case "GET", "HEAD":
            return .ask(
                .page(conversation: conversation, try query.page()), atLeast: try query.atLeast())
        case "POST":
            let value = try json(body)
            if let array = value.array {
                guard !array.isEmpty, array.count <= Self.arrayLimit else {
                    throw RequestError(
                        array.isEmpty ? .fieldInvalid : .limitArray,
                        "body: an array of \(array.count) (accepted: 1 to \(Self.arrayLimit))")
                }
                var messages: [NewMessage] = []
                for (index, element) in array.enumerated() {
                    messages.append(try message(element, "[\(index)]."))
                }
                return .perform(.send(conversation: conversation, messages), .messages)
            }
            return .perform(
                .send(conversation: conversation, [try message(value, "")]), .message)
        default:
            throw Failure.method(allowed: ["GET", "HEAD", "POST"])
        }
    }

    private func message(_ value: RawJSON, _ prefix: String) throws -> NewMessage {
        guard let object = value.object else {
            throw RequestError.invalid(
                "\(prefix.isEmpty ? "body" : String(prefix.dropLast())): not an object")
        }
        guard let author = object["author"]?.string else {
            let seen = object["author"]?.shown ?? "missing"
            throw RequestError.invalid(
                "\(prefix)author: \(seen) (accepted: a string, the id of a user)")
        }
        var content = try MessageContent.decode(object, prefix: prefix)
        try limits.check(sent: content, prefix: prefix)
        content.unknownFields = content.unknownFields.built
        return NewMessage(author: try identifier(author, "\(prefix)author"), content: content)
    }

    private func message(
        _ method: String, _ conversation: String, _ id: String, _ query: QueryString,
        _ body: [UInt8]
    ) throws -> Call {
        switch method {
        case "GET", "HEAD":
            return .ask(
                .message(conversation: conversation, id: id), atLeast: try query.atLeast())
        case "PATCH":
            let edit = try MessageEdit.decode(try object(body), prefix: "")
            return .perform(.edit(conversation: conversation, id: id, edit), .message)
        case "DELETE":
            let ifRev = try query.integer("ifRev", in: 0...QueryString.largest)
            return .perform(.delete(conversation: conversation, id: id, ifRev: ifRev), .message)
        default:
            throw Failure.method(allowed: ["GET", "HEAD", "PATCH", "DELETE"])
        }
    }

    private func reaction(
        isOn: Bool, to message: String, in conversation: String, of user: String, key: String
    ) throws -> Call {
        guard Identifier.isKey(key) else {
            throw RequestError.invalid(
                "path: the reaction's key: \(Identifier.acceptedKey) are accepted")
        }
        let reaction = ReactionCall(key: key, isOn: isOn, user: user)
        return .perform(.react(conversation: conversation, id: message, reaction), .message)
    }

    // MARK: - The rest

    private func heads(_ body: [UInt8]) throws -> [String] {
        guard let ids = try object(body)["ids"]?.array else {
            throw RequestError.invalid("ids: missing or not an array of conversation ids")
        }
        guard ids.count <= Self.arrayLimit else {
            throw RequestError(
                .limitArray, "ids: \(ids.count) of them, at most \(Self.arrayLimit) are accepted")
        }
        // An object has each key once.
        var seen: Set<ID> = []
        return try ids.enumerated().compactMap { index, id in
            guard let text = id.string else {
                throw RequestError.invalid("ids[\(index)]: \(id.shown) (accepted: a string)")
            }
            let name = try identifier(text, "ids[\(index)]")
            return seen.insert(name.id).inserted ? name : nil
        }
    }

    private func disconnect(_ user: String, _ body: [UInt8]) throws -> Call {
        let flag = try object(body, orEmpty: true)["reconnect"]
        if let flag, flag.bool == nil, !flag.isNull {
            throw RequestError.invalid(
                "reconnect: \(flag.shown) (accepted: true or false)")
        }
        return .disconnect(
            user: try identifier(user, "path: the user's id"), mayComeBack: flag?.bool ?? false)
    }

    private func json(_ body: [UInt8]) throws -> RawJSON {
        do {
            return try RawJSON(body)
        } catch {
            throw RequestError(
                .malformed, "body: not JSON at byte \(error.offset): \(error.reason)")
        }
    }

    private func object(_ body: [UInt8], orEmpty: Bool = false) throws -> JSONObject {
        let value = orEmpty && body.isEmpty ? RawJSON.emptyObject : try json(body)
        guard let object = value.object else {
            throw RequestError(.malformed, "body: not an object")
        }
        return object
    }

    private func identifier(_ text: String, _ field: String) throws(RequestError) -> String {
        guard Identifier.isValid(text) else {
            throw .invalid(
                "\(field): 1–255 bytes of UTF-8 without control characters are accepted")
        }
        return text
    }
}
