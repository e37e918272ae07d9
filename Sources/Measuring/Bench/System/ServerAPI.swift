import JSON

/// The gateway's server API, as far as the setup of scenarios needs it.
struct ServerAPI {
    /// The most messages of one call.
    private static let batch = 1000

    private let http: HTTPConnection

    init(_ http: HTTPConnection) { self.http = http }

    /// - Throws: `BenchError.failure`
    func create(_ conversation: String, participants: [String]) throws(BenchError) {
        var json = JSONWriter()
        json.beginObject()
        json.key("participants")
        json.beginArray()
        for user in participants { json.string(user) }
        json.endArray()
        json.endObject()
        try call("PUT", "/v1/conversations/\(conversation)", json.bytes)
    }

    /// Writes `count` messages, in arrays, by an author who is not a participant.
    /// - Throws: `BenchError.failure`
    func post(_ count: Int, to conversation: String, body: String) throws(BenchError) {
        var left = count
        while left > 0 {
            var json = JSONWriter(capacity: Self.batch * (body.utf8.count + 32))
            json.beginArray()
            for _ in 0..<min(left, Self.batch) {
                json.beginObject()
                json.member("author", string: "loader")
                json.member("body", string: body)
                json.endObject()
            }
            json.endArray()
            try call("POST", "/v1/conversations/\(conversation)/messages", json.bytes)
            left -= Self.batch
        }
    }

    /// Writes messages with the given ids, in one transaction.
    /// - Throws: `BenchError.failure`
    func post(ids: [String], to conversation: String, body: String) throws(BenchError) {
        var json = JSONWriter(capacity: ids.count * (body.utf8.count + 64))
        json.beginArray()
        for id in ids {
            json.beginObject()
            json.member("id", string: id)
            json.member("author", string: "author")
            json.member("body", string: body)
            json.endObject()
        }
        json.endArray()
        try call("POST", "/v1/conversations/\(conversation)/messages", json.bytes)
    }

    /// - Throws: `BenchError.failure`
    func delete(_ conversation: String) throws(BenchError) {
        try call("DELETE", "/v1/conversations/\(conversation)")
    }

    /// The head of a conversation, as raw JSON.
    /// - Throws: `BenchError.failure`
    func head(of conversation: String) throws(BenchError) -> RawJSON {
        let answer = try call("POST", "/v1/heads", Array("{\"ids\":[\"\(conversation)\"]}".utf8))
        let heads = (try? JSONObject(answer))?["heads"]?.object
        guard let head = heads?[conversation], head.kind == .object else {
            throw .failure("asking for a head: the answer has none")
        }
        return head
    }

    /// - Throws: `BenchError.failure`, if it is refused or not answered.
    @discardableResult
    func call(
        _ method: String, _ path: String, _ body: [UInt8] = []
    ) throws(BenchError) -> [UInt8] {
        let response = try http.send(method, path, body)
        guard (200..<300).contains(response.status) else {
            let error = (try? JSONObject(response.body))?["error"]?.object
            let code = error?["code"]?.string ?? "no code"
            throw .failure("\(method) \(path): refused (\(response.status), \(code))")
        }
        return response.body
    }
}
