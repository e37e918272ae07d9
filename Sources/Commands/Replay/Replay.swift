import Configuration
import Gateway
import JSON

/// Plays transcripts into conversations through the server API, in order and at a rate. Idempotent:
/// an existing conversation is kept, and a message's idempotency key is made of its file and line,
/// so that one posted before is the same message. Lives on the command's thread.
final class Replay {
    /// How it is played.
    struct Plan {
        /// Messages a second; 0: as fast as the server takes them.
        var rate = 0
        /// The most messages of one call.
        var batch = 500
        /// How long calls are retried while the server is busy or unreachable.
        var patience: Milliseconds = 30_000
    }

    /// The error that stops a replay: `log.txt:12: the server answered 409 (conflict)`.
    struct Failure: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// The most bytes of one call, so that long messages don't add up to one of many megabytes.
    private static let batchBytes = 256 << 10
    /// Backoff between two tries.
    private static let firstWait: Milliseconds = 100
    private static let longestWait: Milliseconds = 2_000

    private let server: any ReplayServer
    private let console: Console
    private let plan: Plan
    private let progress: ReplayProgress

    init(server: any ReplayServer, console: Console, plan: Plan, progress: ReplayProgress) {
        self.server = server
        self.console = console
        self.plan = plan
        self.progress = progress
    }

    /// Plays `transcript`, read from `file`, into `conversation`, which is created if it does not
    /// exist.
    /// - Throws: `Failure` that names the file, and the line if there is one.
    func play(_ transcript: Transcript, file: String, into conversation: String) throws(Failure) {
        let path = "/v1/conversations/" + PercentEncoding.encode(conversation)
        try admit(transcript.authors, to: path, place: file)
        progress.begin(conversation, of: transcript.entries.count, at: console.uptime())
        var rest = transcript.entries[...]
        let start = console.uptime()
        while !rest.isEmpty {
            let due = waitUntilDue(done: transcript.entries.count - rest.count, since: start)
            let batch = Self.batch(of: rest, most: min(due, plan.batch))
            try post(batch, to: path, file: file)
            rest = rest.dropFirst(batch.count)
            progress.advance(to: transcript.entries.count - rest.count, at: console.uptime())
        }
        progress.end(at: console.uptime())
    }

    // MARK: the conversation

    /// Creates the conversation if it is missing, and adds the authors who don't take part.
    private func admit(_ authors: [String], to path: String, place: String) throws(Failure) {
        let reply = try call("GET", path, place: place, accepting: [200, 404])
        guard reply.status == 200 else {
            var json = JSONWriter()
            json.beginObject()
            json.key("participants")
            json.beginArray()
            for author in authors { json.string(author) }
            json.endArray()
            json.endObject()
            try call("PUT", path, json.bytes, place: place, accepting: [200, 201])
            return
        }
        let list = try call("GET", path + "/participants?limit=0", place: place, accepting: [200])
        guard let present = (try? JSONObject(list.body))?["participants"]?.array else {
            throw Failure(description: "\(place): the server's list of participants is unreadable")
        }
        let known = Set(present.compactMap { $0.object?["id"]?.string })
        for author in authors where !known.contains(author) {
            let piece = PercentEncoding.encode(author)
            try call(
                "PUT", "\(path)/participants/\(piece)", place: place, accepting: [200, 201, 204])
        }
    }

    // MARK: messages

    /// How many messages may be posted now, at least one; sleeps until there is one. After a delay
    /// more are due at once, until the rate is met again.
    private func waitUntilDue(done: Int, since start: Milliseconds) -> Int {
        guard plan.rate > 0 else { return .max }
        while true {
            let passed = console.uptime() - start
            let due = Int(passed) * plan.rate / 1000 + 1 - done
            if due > 0 { return due }
            let next = Milliseconds((done * 1000 + plan.rate - 1) / plan.rate)
            console.sleep(max(1, next - passed))
        }
    }

    private static func batch(
        of entries: ArraySlice<Transcript.Entry>, most: Int
    ) -> ArraySlice<Transcript.Entry> {
        var bytes = 0
        let batch = entries.prefix(most).prefix { entry in
            bytes += entry.content.count + 1
            return bytes <= batchBytes
        }
        // A message longer than a batch goes alone; the server decides whether it is too long.
        return batch.isEmpty ? entries.prefix(1) : batch
    }

    private func post(
        _ batch: ArraySlice<Transcript.Entry>, to path: String, file: String
    ) throws(Failure) {
        guard let first = batch.first, let last = batch.last else { return }
        let lines = first.line == last.line ? "\(first.line)" : "\(first.line)-\(last.line)"
        var body = first.content
        if batch.count > 1 {
            body =
                [UInt8(ascii: "[")] + batch.map(\.content).joined(separator: [UInt8(ascii: ",")])
                + [UInt8(ascii: "]")]
        }
        try call(
            "POST", path + "/messages", body, place: "\(file):\(lines)", accepting: [200, 201])
    }

    // MARK: calls

    /// Makes a call; retries with backoff while the server is busy or unreachable.
    /// - Throws: `Failure` for any other answer, or once `patience` has passed.
    @discardableResult
    private func call(
        _ method: String, _ path: String, _ body: [UInt8]? = nil, place: String,
        accepting statuses: Set<Int>
    ) throws(Failure) -> HTTPReply {
        let start = console.uptime()
        var wait = Self.firstWait
        while true {
            let trouble: Trouble
            switch attempt(method, path, body, accepting: statuses) {
            case .success(let reply): return reply
            case .failure(let seen): trouble = seen
            }
            guard trouble.isTransient else {
                throw Failure(description: "\(place): \(trouble.reason)")
            }
            wait = max(wait, trouble.pause)
            guard console.uptime() - start + wait <= plan.patience else {
                let patience = Words.write(duration: plan.patience)
                throw Failure(description: "\(place): \(trouble.reason), for \(patience)")
            }
            console.sleep(wait)
            wait = min(wait * 2, Self.longestWait)
        }
    }

    /// Why a call did not succeed.
    private struct Trouble: Error {
        let reason: String
        var isTransient = false
        /// The `after` that the server asks for, at most 10 s.
        var pause: Milliseconds = 0
    }

    private func attempt(
        _ method: String, _ path: String, _ body: [UInt8]?, accepting statuses: Set<Int>
    ) -> Result<HTTPReply, Trouble> {
        do throws(TransportError) {
            let reply = try server.call(method, path, body: body)
            return statuses.contains(reply.status)
                ? .success(reply) : .failure(Self.trouble(reply))
        } catch {
            return .failure(Trouble(reason: error.reason, isTransient: error.isTransient))
        }
    }

    /// The server's status and error code, without its message: that may hold anything.
    private static func trouble(_ reply: HTTPReply) -> Trouble {
        let error = (try? JSONObject(reply.body))?["error"]?.object
        let code = error?["code"]?.string.flatMap { code in
            code.utf8.count <= 40 && code.allSatisfy { $0.isASCIIAlphanumeric || $0 == "_" }
                ? " (\(code))" : nil
        }
        return Trouble(
            reason: "the server answered \(reply.status)" + (code ?? ""),
            isTransient: reply.status == 429 || reply.status == 503,
            pause: Milliseconds(min(max(error?["after"]?.int ?? 0, 0), 10_000)))
    }
}
