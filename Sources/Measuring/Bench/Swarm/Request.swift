import JSON

/// The requests of the scenarios, as the bytes of their payload.
enum Request {
    static func connect(id: Int, user: String) -> [UInt8] {
        request(id, "connect") { $0.member("user", string: user) }
    }

    /// - Parameter have: what the client holds, if it resumes.
    static func subscribe(
        id: Int, conversation: String, limit: Int, have: [UInt8]? = nil
    ) -> [UInt8] {
        request(id, "subscribeMessages") {
            $0.member("conversation", string: conversation)
            $0.member("limit", int: limit)
            if let have { $0.member("have", raw: have) }
        }
    }

    static func fetchMessages(
        id: Int, conversation: String, before: Int, limit: Int
    ) -> [UInt8] {
        request(id, "fetchMessages") {
            $0.member("conversation", string: conversation)
            $0.member("before", int: before)
            $0.member("limit", int: limit)
        }
    }

    /// Requests the messages in a gap, newest first.
    static func fetchGap(
        id: Int, conversation: String, _ gap: ClosedRange<Int>
    ) -> [UInt8] {
        request(id, "fetchMessages") {
            $0.member("conversation", string: conversation)
            $0.member("after", int: gap.lowerBound - 1)
            $0.member("before", int: gap.upperBound + 1)
            $0.member("limit", int: 1000)
        }
    }

    static func editMessage(
        id: Int, conversation: String, message: String, body: String
    ) -> [UInt8] {
        request(id, "editMessage") {
            $0.member("conversation", string: conversation)
            $0.member("id", string: message)
            $0.member("body", string: body)
        }
    }

    static func sendMessage(
        id: Int, conversation: String, message: String, body: String
    ) -> [UInt8] {
        request(id, "sendMessage") {
            $0.member("conversation", string: conversation)
            $0.member("id", string: message)
            $0.member("body", string: body)
        }
    }

    static func request(
        _ id: Int, _ method: String, _ params: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", int: id)
        json.member("method", string: method)
        json.key("params")
        json.beginObject()
        params(&json)
        json.endObject()
        json.endObject()
        return json.bytes
    }
}

/// The head of a reply, parsed without reading the rest.
struct Reply {
    let id: Int
    /// False for the first half of a two-phase answer.
    let isFinal: Bool
    /// Where the reply continues after its id: two replies that are equal from here differ in
    /// nothing else.
    let rest: Int

    private static let beginning = Pattern("{\"id\":")
    private static let cached = Pattern(",\"cached\":true")
    private static let error = Pattern(",\"error\":")

    /// Whether the frame is the final part of a reply.
    /// - Throws: `BenchError.failure` for an error reply, with its code.
    static func isFinal(_ frame: Span<UInt8>) throws(BenchError) -> Bool {
        try Reply(frame)?.isFinal ?? false
    }

    /// Nil for an event.
    /// - Throws: `BenchError.failure` for an error reply, with its code.
    init?(_ payload: Span<UInt8>) throws(BenchError) {
        // Within the first bytes or not at all: a long event must not be searched to its end.
        let head = payload.extracting(first: 48)
        guard Bytes.find(Self.beginning, in: head) == 0,
            let id = Bytes.number(in: head, at: Self.beginning.count)
        else { return nil }
        self.id = id
        rest = Self.beginning.count + String(id).utf8.count
        isFinal = Bytes.find(Self.cached, in: head) != rest
        guard Bytes.find(Self.error, in: head) != rest else {
            let reply = try? JSONObject(Bytes.copy(payload))
            let code = reply?["error"]?.object?["code"]?.string ?? "no code"
            throw .failure("asking the gateway: request \(id) got an error (\(code))")
        }
    }
}
