import Chat
import JSON

/// One conversation of a `TestGateway`: who takes part, and its log. Every place has a message, and
/// every change raises `rev` by one, as in a real one; the first is that it was made.
struct TestLog {
    let id: String
    private(set) var title: String?
    private(set) var participants: [String]
    private(set) var admins: [String] = []
    private(set) var metadata = RawJSON.emptyObject
    private(set) var messages: [Message] = []
    private(set) var rev = 1
    /// The number of the last change of all that is not a message.
    private(set) var recordRev = 1
    private let createdAt: Timestamp
    private var updatedAt: Timestamp
    /// Who reacts to which message, oldest first.
    private(set) var reactions: [String: [(user: String, key: String, at: Timestamp)]] = [:]
    /// The head's seq when each joined.
    private(set) var joined: [String: Int] = [:]
    /// Up to where each has read.
    private(set) var read: [String: Int] = [:]

    init(
        id: String, title: String?, participants: [String], admins: [String] = [],
        metadata: RawJSON = .emptyObject, at now: Timestamp
    ) {
        self.id = id
        self.title = title
        self.participants = participants
        self.admins = admins
        self.metadata = metadata
        createdAt = now
        updatedAt = now
    }

    /// Changes what is not a message; nil leaves a field as it is.
    mutating func put(
        title: String?? = nil, participants: [String]? = nil, admins: [String]? = nil,
        metadata: RawJSON? = nil, at now: Timestamp
    ) {
        rev += 1
        recordRev = rev
        updatedAt = now
        if let title { self.title = title }
        for user in participants ?? [] where !self.participants.contains(user) {
            joined[user] = seq
        }
        self.participants = participants ?? self.participants
        self.admins = (admins ?? self.admins).filter(self.participants.contains)
        self.metadata = metadata ?? self.metadata
    }

    var seq: Int { messages.count }
    var head: String {
        #"{"epoch":"test","seq":\#(seq),"rev":\#(rev),"mark":"\#(mark(rev))","floor":1}"#
    }

    func mark(_ rev: Int) -> String { "m\(rev)" }

    /// Whether the log has the change that a client says it must not miss.
    private func has(_ change: JSONObject) -> Bool {
        let known = change["rev"]?.int ?? 0
        return change["epoch"]?.string == "test" && known <= rev
            && change["mark"]?.string == mark(known)
    }

    /// What an answer begins with where it is not so; otherwise nothing.
    func reset(_ params: JSONObject) -> String {
        params["atLeast"]?.object.map { has($0) } ?? true ? "" : #""reset":true,"#
    }
    func place(of id: String) -> Int? { messages.firstIndex { $0.id == id }.map { $0 + 1 } }
    subscript(_ seq: Int) -> Message { messages[seq - 1] }

    /// What everybody is told of it; without messages.
    var record: Conversation {
        var record = Conversation(id: id)
        record.title = title
        record.participantCount = participants.count
        record.admins = admins
        record.metadata = metadata
        record.createdAt = createdAt
        record.updatedAt = updatedAt
        record.rev = recordRev
        return record
    }

    /// The same with what a list shows of its messages.
    var listed: Conversation {
        var record = record
        record.lastMessage = messages.last
        record.head = Conversation.Head(
            epoch: "test", seq: seq, rev: rev, mark: mark(rev), floor: 1)
        return record
    }

    /// What a reader is answered.
    func record(for user: String) -> Conversation {
        var record = listed
        record.participants = participants
        record.lastReadSeq = read[user] ?? 0
        record.unreadCount = unread(for: user)
        record.unreadMentions = mentions(of: user, above: read[user] ?? 0).count
        return record
    }

    /// The places above one in which others mention a user.
    func mentions(of user: String, above place: Int) -> [Int] {
        messages.indices.map { $0 + 1 }.filter { seq in
            let message = self[seq]
            return seq > max(place, joined[user] ?? 0) && message.author != user
                && (message.mentionAll || message.mentions.contains(user))
        }
    }

    func unread(for user: String) -> Int {
        messages.dropFirst(read[user] ?? 0).count { $0.author != user && !$0.isDeleted }
    }

    mutating func append(_ message: Message) {
        rev += 1
        var message = message
        message.seq = seq + 1
        message.rev = rev
        messages.append(message)
        read[message.author] = message.seq
    }

    /// The keys with which a user reacts to a message.
    func keys(of user: String, to id: String) -> [String] {
        (reactions[id] ?? []).filter { $0.user == user }.map(\.key)
    }

    /// A user's reaction begins or ends.
    /// - Returns: what the message shows then; nil if nothing changes.
    mutating func react(
        _ user: String, to id: String, key: String, isOn: Bool, shown before: [Reaction],
        at now: Timestamp
    ) -> [Reaction]? {
        guard keys(of: user, to: id).contains(key) != isOn else { return nil }
        if isOn {
            reactions[id, default: []].append((user, key, now))
        } else {
            reactions[id]?.removeAll { $0.user == user && $0.key == key }
        }
        var shown: [Reaction] = []
        for entry in reactions[id] ?? [] {
            guard let at = shown.firstIndex(where: { $0.key == entry.key }) else {
                shown.append(Reaction(key: entry.key, count: 1, users: [entry.user]))
                continue
            }
            shown[at].count += 1
            if shown[at].users.count < Reaction.namedUsers { shown[at].users.append(entry.user) }
        }
        // A key that was there keeps its place.
        let keys = before.map(\.key).filter { key in shown.contains { $0.key == key } }
        let old = keys.compactMap { key in shown.first { $0.key == key } }
        return old + shown.filter { !keys.contains($0.key) }
    }

    /// - Returns: Its place; nil if there is no such message, or it is deleted.
    mutating func change(_ id: String, _ change: (inout Message) -> Void) -> Int? {
        guard let seq = place(of: id), !self[seq].isDeleted else { return nil }
        rev += 1
        change(&messages[seq - 1])
        messages[seq - 1].rev = rev
        return seq
    }

    mutating func markRead(_ user: String, upTo seq: Int) {
        read[user] = max(read[user] ?? 0, min(seq, self.seq))
    }

    // MARK: As text

    func deltas(_ places: some Sequence<Int>, via: String, type: String? = nil) -> String {
        let all = places.map { seq in
            let message = self[seq]
            let type = message.isDeleted ? "deleted" : type ?? "inserted"
            return #"{"type":"\#(type)","via":"\#(via)","message":\#(message.text)}"#
        }
        return "[\(all.joined(separator: ","))]"
    }

    /// The change of one place, as those who subscribe are told of it.
    func event(_ seq: Int, type: String) -> String {
        #"{"event":"messages","conversation":\#(id.quoted),"#
            + #""deltas":\#(deltas([seq], via: "live", type: type)),"covers":[[\#(seq),\#(seq)]],"#
            + #""prev":\#(rev - 1),"asOf":\#(rev),"head":\#(head)}"#
    }

    /// The change of all that is not a message.
    var recordEvent: String {
        #"{"event":"conversation","conversation":\#(record.text),"#
            + #""prev":\#(rev - 1),"asOf":\#(rev),"head":\#(head)}"#
    }

    /// The answer to `findBoundaries`.
    var boundaries: String {
        let newest = messages.last.map { #"{"id":\#($0.id.quoted),"seq":\#(seq)}"# }
        let oldest = messages.first.map { #"{"id":\#($0.id.quoted),"seq":1}"# }
        let ends = newest.flatMap { newest in
            oldest.map { #"{"newest":\#(newest),"oldest":\#($0)}"# }
        }
        return #"{"boundaries":[\#(ends ?? "")],"gaps":[],"head":\#(head)}"#
    }

    /// The same of changes that a client is not told, for it was too slow.
    func shedding(_ places: ClosedRange<Int>, since: Timestamp) -> String {
        #"{"event":"gap","conversation":\#(id.quoted),"gaps":"#
            + gaps(Coverage(places.lowerBound, places.upperBound), "slow", since)
            + #","prev":\#(rev - places.count),"asOf":\#(rev),"head":\#(head)}"#
    }

    func gaps(_ places: Coverage, _ cause: String, _ since: Timestamp) -> String {
        let all = places.runs.map {
            #"{"after":\#($0.low - 1),"before":\#($0.high + 1),"missing":\#($0.count),"#
                + #""cause":"\#(cause)","since":\#(since.text)}"#
        }
        return "[\(all.joined(separator: ","))]"
    }

    /// The answer to `subscribeMessages`: what came since what the client holds, newest first and
    /// as far as it fits, and gaps for the rest.
    func subscription(_ params: JSONObject, _ now: Timestamp) -> String {
        let limit = params["limit"]?.int ?? 100
        var (covers, gaps) = (Coverage(max(1, seq - limit + 1), seq), "[]")
        var known = 0
        if let have = params["have"]?.object, reset(params).isEmpty {
            let pairs = (have["runs"]?.array ?? []).compactMap { $0.array }
            let runs = Coverage(
                pairs.compactMap { Coverage.Run(checking: $0[0].int ?? 1, $0[1].int ?? 0) })
            let (asOf, top) = (have["asOf"]?.int ?? 0, runs.last ?? 0)
            known = asOf
            let changed = runs.runs.flatMap { Array($0.low...$0.high) }.filter {
                $0 <= seq && self[$0].rev ?? 0 > asOf
            }
            let due = changed + (top < seq ? Array(top + 1...seq) : [])
            // The newest changes come, whatever their places are.
            covers = Coverage(
                places: due.sorted { self[$0].rev ?? 0 < self[$1].rev ?? 0 }.suffix(limit))
            let low = runs.first ?? seq + 1
            let cold = low > top ? Coverage() : Coverage(low, top).subtracting(runs)
            gaps = self.gaps(
                Coverage(places: due).subtracting(covers).union(cold), "limit", now)
        }
        let places = covers.runs.flatMap { Array($0.low...$0.high) }
        let record = recordRev > known ? record.text : "null"
        return
            #"{\#(reset(params))"conversation":\#(record),"#
            + #""deltas":\#(deltas(places, via: "replay")),"#
            + #""covers":\#(covers.pairs),"#
            + #""gaps":\#(gaps),"asOf":\#(rev),"head":\#(head)}"#
    }

    /// The place of a moment, which lies before the first message that is not older.
    private func moment(_ anchor: RawJSON, _ name: String) -> Int? {
        guard let text = anchor.object?["time"]?.string, let time = Timestamp(text) else {
            return nil
        }
        let first = messages.firstIndex { $0.createdAt >= time }.map { $0 + 1 } ?? seq + 1
        return name == "after" ? first - 1 : first
    }

    /// The answer to `fetchMessages`; nil where it is about a message that is not there.
    func page(_ params: JSONObject) -> String? {
        func place(_ name: String) -> Int?? {
            guard let anchor = params[name] else { return .some(nil) }
            let place = anchor.int ?? anchor.string.flatMap(self.place) ?? moment(anchor, name)
            return place.map { .some($0) } ?? nil
        }
        guard let around = place("around"), let after = place("after"),
            let before = place("before")
        else { return nil }
        let limit = params["limit"]?.int ?? 100
        var (low, high) = (1, seq)
        if let around { (low, high) = (max(1, around - limit), min(seq, around + limit)) }
        if let after { low = after + 1 }
        if let before { high = before - 1 }
        let isAscending = after != nil && (before == nil || params["order"]?.string == "asc")
        if around == nil, high - low + 1 > limit {
            if isAscending { high = low + limit - 1 } else { low = high - limit + 1 }
        }
        let covers = Coverage(low, high)
        let messages = (low <= high ? Array(low...high) : []).map { self[$0].text }
        return
            #"{\#(reset(params))"messages":[\#(messages.joined(separator: ","))],"#
            + #""covers":\#(covers.pairs),"#
            + #""gaps":[],"asOf":\#(rev),"head":\#(head),"#
            + #""hasMore":{"before":\#(low > 1),"after":\#(high < seq)}}"#
    }
}

extension Coverage {
    fileprivate var pairs: String {
        "[\(runs.map { "[\($0.low),\($0.high)]" }.joined(separator: ","))]"
    }
}

extension Message {
    var text: String { String(decoding: json, as: UTF8.self) }
}

extension Conversation {
    var text: String { String(decoding: json, as: UTF8.self) }
}

extension String {
    /// As a text in JSON.
    var quoted: String { String(decoding: RawJSON(string: self).bytes, as: UTF8.self) }
}

extension Timestamp {
    /// As a text in JSON.
    fileprivate var text: String { "\"\(self)\"" }
}
