import Chat
import JSON
import Wire

@testable import ClientCore

/// The gateway's end of one connection, as the contract has it: what is asked waits until it is
/// served, and what is answered until it is delivered.
struct ModelGateway {
    /// `limits.inbound_frame`: more than any `have` of these tests.
    static let frameLimit = 20_000
    /// A frame came that the real one would have closed the connection for.
    private(set) var wasFlooded = false
    var log = ModelLog()
    /// Places that the gateway lacks and will push.
    private(set) var lacking = Coverage()
    private(set) var requests: [(text: JSONObject, life: Int)] = []
    private(set) var frames: [[UInt8]] = []
    /// How many of the next requests for messages, or to write, are refused.
    var refusals = 0
    /// The code with which each request for messages is refused, and whether that is for good; nil
    /// to answer.
    var refusing: (code: String, isFinal: Bool)?
    /// The requests for messages, by method.
    private(set) var asked: [String] = []
    /// What was carried out of what the client wrote.
    private(set) var written = WrittenByGateway()
    private(set) var fetches = 0
    private var isSubscribed = false

    mutating func disconnect() {
        requests = []
        frames = []
        isSubscribed = false
    }

    mutating func receive(_ text: [UInt8]) throws {
        if text.count > Self.frameLimit { wasFlooded = true }
        requests.append((try JSONObject(text), log.life))
    }

    mutating func takeFrame() -> [UInt8]? { frames.isEmpty ? nil : frames.removeFirst() }

    // MARK: Changes

    mutating func write(_ count: Int) {
        for _ in 0..<count {
            log.write()
            tell([log.seq], covers: Coverage(log.seq, log.seq), from: log.rev - 1, via: "live")
        }
    }

    mutating func change(_ seq: Int, delete: Bool, body: String? = nil) {
        guard let seq = log.change(seq, delete: delete, body: body) else { return }
        tell([seq], covers: Coverage(seq, seq), from: log.rev - 1, via: "live")
    }

    mutating func trim(to floor: Int) {
        log.trim(to: floor)
        if log.floor > 1 { lacking = lacking.subtracting(Coverage(0, log.floor - 1)) }
    }

    mutating func recreate() { begin { $0.recreate() } }
    mutating func rewind(to rev: Int) { begin { $0.rewind(to: rev) } }

    /// The log is another one from here on.
    private mutating func begin(_ change: (inout ModelLog) -> Void) {
        change(&log)
        lacking = []
        if isSubscribed {
            push("{\"event\":\"reset\",\"conversation\":\"c\",\"head\":\(log.head)}")
        }
        isSubscribed = false
    }

    /// Tells that the client no longer holds places: it fetches them, or waits for them.
    mutating func lose(_ places: Coverage, _ cause: String) {
        if cause == "upstream" { lacking = lacking.union(places) }
        guard isSubscribed else { return }
        push(
            "{\"event\":\"gap\",\"conversation\":\"c\",\"gaps\":\(gaps(places, cause)),"
                + "\"prev\":\(log.rev),\"asOf\":\(log.rev),\"head\":\(log.head)}")
    }

    /// The subscription ends.
    mutating func end(_ reason: String) {
        if isSubscribed {
            push("{\"event\":\"unsubscribed\",\"conversation\":\"c\",\"reason\":\"\(reason)\"}")
        }
        isSubscribed = false
    }

    mutating func heal() {
        let places = lacking.places
        let covers = lacking
        lacking = []
        if !places.isEmpty { tell(places, covers: covers, from: log.rev, via: "fill") }
    }

    private mutating func tell(_ places: [Int], covers: Coverage, from prev: Int, via: String) {
        guard isSubscribed else { return }
        push(
            "{\"event\":\"messages\",\"conversation\":\"c\","
                + "\"deltas\":\(log.deltas(places, via: via)),\"covers\":\(covers.text),"
                + "\"prev\":\(prev),\"asOf\":\(log.rev),\"head\":\(log.head)}")
    }

    private mutating func push(_ frame: String) { frames.append(Array(frame.utf8)) }

    private func gaps(_ places: Coverage, _ cause: String) -> String {
        let list = places.runs.map {
            "{\"after\":\($0.low - 1),\"before\":\($0.high + 1),\"missing\":\($0.count),"
                + "\"cause\":\"\(cause)\",\"since\":\"2026-11-20T10:00:00.000Z\"}"
        }
        return "[\(list.joined(separator: ","))]"
    }

    // MARK: Requests

    /// Answers the oldest request.
    /// - Returns: whether there was one.
    mutating func serve() -> Bool {
        guard !requests.isEmpty else { return false }
        let (request, life) = requests.removeFirst()
        let id = request["id"]?.int ?? 0
        let params = request["params"]?.object ?? JSONObject(members: [])
        var result = "{}"
        var error: String?
        var isAhead = false
        let method = request["method"]?.string ?? ""
        let isForMessages = method == "subscribeMessages" || method == "fetchMessages"
        if isForMessages { asked.append(method) }
        switch method {
        case _ where isForMessages && refusing != nil:
            let retry = refusing?.isFinal == true ? "never" : "later"
            error = refusal(refusing?.code ?? "", retry)
        case "connect":
            result =
                "{\"user\":\"alice\",\"pingInterval\":100000,"
                + "\"limits\":{\"inbound_frame\":\(Self.frameLimit)},"
                + "\"upstream\":{\"state\":\"online\"}}"
        case "subscribeMessages": result = subscribe(params)
        case "unsubscribeMessages": isSubscribed = false
        case "fetchMessages":
            fetches += 1
            if refusals > 0 {
                refusals -= 1
                error = refusal("origin_unavailable", "later")
            } else if let page = page(params) {
                result = page
            } else {
                error = refusal("not_found", "never")
            }
        case "sendMessage", "editMessage", "deleteMessage", "markRead":
            if refusals > 0 {
                refusals -= 1
                error = refusal("origin_unavailable", "later")
            } else {
                let events = frames.count
                (result, error) = take(method, params, life)
                // The answer may come before the event, or after it.
                isAhead = log.rev.isMultiple(of: 2) && frames.count > events
            }
        default: break
        }
        if isAhead {
            let event = frames.removeLast()
            push("{\"id\":\(id),\"result\":\(result)}")
            frames.append(event)
            return true
        }
        push("{\"id\":\(id),\(error.map { "\"error\":\($0)" } ?? "\"result\":\(result)")}")
        return true
    }

    private func refusal(_ code: String, _ retry: String) -> String {
        "{\"code\":\"\(code)\",\"message\":\"no\",\"retry\":\"\(retry)\"}"
    }

    /// Carries out what the client writes.
    private mutating func take(
        _ method: String, _ params: JSONObject, _ life: Int
    ) -> (result: String, error: String?) {
        func refused(_ code: String) -> (String, String?) { ("", refusal(code, "never")) }
        let id = params["id"]?.string ?? ""
        let body = params["body"]?.string ?? ""
        switch method {
        case "markRead":
            let seq = params["seq"]?.int ?? 0
            guard seq <= log.seq else { return refused("bad_request") }
            written.read = max(written.read, seq)
            return ("{\"lastReadSeq\":\(seq),\"unreadCount\":0}", nil)
        case "sendMessage":
            if log.place(of: id) == nil {
                log.write((id, body))
                written.arrived(id, body, log)
                tell([log.seq], covers: Coverage(log.seq, log.seq), from: log.rev - 1, via: "live")
            }
        default:
            guard let seq = log.place(of: id), let entry = log.entry(seq) else {
                return refused("not_found")
            }
            let isDelete = method == "deleteMessage"
            let isDone = isDelete ? entry.isDeleted : !entry.isDeleted && entry.body == body
            let ifRev = params["ifRev"]?.int
            if isDone { break }
            if entry.isDeleted || ifRev != nil && ifRev != entry.rev { return refused("conflict") }
            change(seq, delete: isDelete, body: body)
            let edit = WrittenByGateway.Edit(
                id: id, of: entry.rev, life: entry.life, isKnown: ifRev != nil, made: log.rev,
                madeIn: log.life, isLate: life != log.life)
            written.edited(edit, isDelete ? nil : body)
        }
        let seq = log.place(of: id) ?? 0
        let message = seq < log.floor ? trimmed(id) : log.message(seq)
        return ("{\"message\":\(message)}", nil)
    }

    /// The frame about a message that was sent and is gone.
    private func trimmed(_ id: String) -> String {
        "{\"id\":\"\(id)\",\"conversation\":\"c\",\"author\":\"alice\",\"trimmed\":true,"
            + "\"createdAt\":\"2026-11-20T10:00:00.000Z\"}"
    }

    private mutating func subscribe(_ params: JSONObject) -> String {
        isSubscribed = true
        let limit = params["limit"]?.int ?? 100
        guard let have = params["have"]?.object, let head = have["head"]?.object,
            let rev = head["rev"]?.int, rev <= log.rev, head["mark"]?.string == log.mark(rev)
        else {
            let isReset = params["have"] == nil ? "" : ",\"reset\":true"
            let low = max(log.floor, log.seq - limit + 1)
            let covers = low > log.seq ? Coverage() : Coverage(low, log.seq)
            return frame(covers.subtracting(lacking), [], lacking.clipped(low, .max)) + isReset
                + "}"
        }
        let runs = Coverage(
            (have["runs"]?.array ?? []).map {
                Coverage.Run($0.array?[0].int ?? 0, $0.array?[1].int ?? 0)
            })
        let asOf = have["asOf"]?.int ?? 0
        let top = max(runs.last ?? 0, log.floor - 1)
        let held = runs.places.filter { $0 <= log.seq && log.entry($0)?.rev ?? 0 > asOf }
        let above = top < log.seq ? Array(top + 1...log.seq) : []
        let taken = (held.reversed() + above.reversed()).prefix(limit)
        let covers = Coverage(places: taken).subtracting(lacking)
        let low = min(runs.first ?? log.seq + 1, log.seq + 1)
        let left = Coverage(places: held + above).subtracting(covers).subtracting(lacking)
        let cold = low > top ? Coverage() : Coverage(low, top).subtracting(runs)
        return frame(covers, left.union(cold), lacking.clipped(low, .max)) + "}"
    }

    /// An answer without its end.
    private func frame(_ covers: Coverage, _ left: Coverage, _ lacking: Coverage) -> String {
        var gaps = [gaps(left, "limit"), gaps(lacking, "upstream")].map {
            $0.dropFirst().dropLast()
        }
        gaps.removeAll { $0.isEmpty }
        return "{\"deltas\":\(log.deltas(covers.places, via: "replay")),\"covers\":\(covers.text),"
            + "\"gaps\":[\(gaps.joined(separator: ","))],\"asOf\":\(log.rev),\"head\":\(log.head)"
    }

    /// A page of history; nil where the anchor is not known.
    private func page(_ params: JSONObject) -> String? {
        let limit = params["limit"]?.int ?? 100
        var (low, high) = (log.floor, log.seq)
        if let around = params["around"] {
            guard let place = place(around) else { return nil }
            (low, high) = (max(low, place - limit), min(high, place + limit))
        } else {
            var isAscending = params["order"]?.string == "asc"
            if let after = params["after"] {
                guard let place = place(after) else { return nil }
                low = max(low, place + 1)
                isAscending = isAscending || params["before"] == nil
            } else {
                isAscending = false
            }
            if let before = params["before"] {
                guard let place = place(before) else { return nil }
                high = min(high, place - 1)
            }
            if high - low + 1 > limit {
                if isAscending { high = low + limit - 1 } else { low = high - limit + 1 }
            }
        }
        let span = low <= high ? Coverage(low, high) : Coverage()
        let missing = span.intersection(lacking)
        let covers = span.subtracting(lacking)
        let messages = covers.places.map(log.message).joined(separator: ",")
        return "{\"messages\":[\(messages)],\"covers\":\(covers.text),"
            + "\"gaps\":\(gaps(missing, "upstream")),\"asOf\":\(log.rev),\"head\":\(log.head),"
            + "\"hasMore\":{\"before\":\(low > log.floor),\"after\":\(high < log.seq)}}"
    }

    private func place(_ anchor: RawJSON) -> Int? {
        if let seq = anchor.int { return seq }
        guard let id = anchor.string else { return nil }
        return (log.floor..<log.seq + 1).first { log.id($0) == id }
    }
}

extension Coverage {
    /// Each place.
    var places: [Int] { runs.flatMap { Array($0.low...$0.high) } }

    var text: String {
        "[\(runs.map { "[\($0.low),\($0.high)]" }.joined(separator: ","))]"
    }
}
