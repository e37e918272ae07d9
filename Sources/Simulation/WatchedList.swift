import Chat
import Engine
import JSON
import Ports
import Wire

/// A client's list of conversations, kept by the simplest rule: the last event is right, and so is
/// a reply after it. That only works if replies and events are in one order, which this checks. The
/// answer of `subscribeConversations` counts over all before it; of two other replies the newer.
struct WatchedList {
    /// The part of an entry that is compared with the truth.
    struct Entry: Hashable {
        var epoch: String
        /// The newest change of the log; below, of its record and of its last message.
        var rev: Int
        var record: Int
        var last: Int
        /// Whether it came with an event.
        var isTold = false
    }

    private(set) var entries: [String: Entry] = [:]
    /// What the token's answer left; what came since is only shown.
    private var atToken: [String: Entry] = [:]
    /// The token for the next request.
    private(set) var token: String?
    var isWatched = false
    /// The request with which the list began.
    private var first = 0

    /// The delta of an event.
    mutating func apply(_ delta: JSONObject, _ user: String, _ oracle: Oracle) throws(Violation) {
        let view = try delta.required("conversation").members("conversation")
        guard let id = view["id"]?.string else { throw Violation("a conversation without an id") }
        if delta["type"]?.string == "deleted" {
            entries[id] = nil
        } else {
            try require(
                view["unreadCount"] == nil && view["lastReadSeq"] == nil
                    && view["participants"] == nil,
                "an event with fields that are one user's own, or with participants")
            var entry = try Entry(view, id, user, oracle)
            entry.isTold = true
            entries[id] = entry
        }
    }

    /// The answer of `subscribeConversations`.
    mutating func begin(
        _ result: JSONObject, request: Int, _ user: String, _ oracle: Oracle
    ) throws(Violation) {
        isWatched = true
        first = request
        token = result["token"]?.string
        let shown = entries
        entries = result["complete"]?.bool == true ? atToken : [:]
        for view in try result.required("conversations").elements("conversations") {
            if let id = try view.members("conversation")["id"]?.string {
                // With the log in the gateway, no reply is older than an event before it.
                entries[id] = oracle.isReplica ? nil : shown[id]
            }
            try show(view, in: result, request: request, user, oracle)
        }
        for id in try result.required("removed").elements("removed") {
            entries[id.string ?? ""] = nil
        }
        atToken = entries
    }

    /// A conversation in a reply. A client that does not watch keeps no list, and a reply to a
    /// request from before the list began may be older than it.
    mutating func show(
        _ json: RawJSON, in result: JSONObject, request: Int, _ user: String, _ oracle: Oracle
    ) throws(Violation) {
        let view = try json.members("conversation")
        guard let id = view["id"]?.string else { throw Violation("a conversation without an id") }
        try require(view["unreadCount"] != nil, "a reply without the caller's own fields")
        if result["open"]?.bool == true {
            try require(oracle.isReplica, "open, though the origin can't be away")
            try oracle.checkKnown(view, id, user)
        }
        let entry = try Entry(view, id, user, oracle)
        guard isWatched, request >= first else { return }
        if let earlier = entries[id], earlier.epoch == entry.epoch, earlier.rev > entry.rev {
            // A lost log, or a gateway that is behind, may have shown more.
            try require(
                !earlier.isTold || oracle.isReplica,
                "a reply as of \(entry.rev), an event before it was as of \(earlier.rev)")
        } else {
            entries[id] = entry
        }
    }

    /// - Parameter excused: conversations that it may have or lack.
    /// - Throws: `Violation` unless the list equals the user's present list.
    func checkWhole(
        _ user: String, _ oracle: Oracle, excused: Set<String> = []
    ) throws(Violation) {
        let views = oracle.origin.archive.list(of: user)
        let truth = Dictionary(
            uniqueKeysWithValues: views.map { view in
                let entry = Entry(
                    epoch: view.head.epoch, rev: view.head.rev, record: view.record.rev,
                    last: view.lastMessage?.rev ?? 0)
                return (view.record.id, entry)
            })
        for id in Set(truth.keys).union(entries.keys).subtracting(excused).sorted() {
            var entry = entries[id]
            entry?.isTold = false
            let log = oracle.origin.log(id)
            try require(
                truth[id]?.withoutReactions(log) == entry?.withoutReactions(log),
                "the list has \(entries[id].map { "\($0)" } ?? "no") \(id) at rest,"
                    + " it is \(truth[id].map { "\($0)" } ?? "not there")")
        }
    }
}

extension WatchedList.Entry {
    /// As of the newest change that watchers of lists are told.
    fileprivate func withoutReactions(_ log: ModelLog?) -> Self {
        guard let log, rev <= log.rev else { return self }
        var entry = self
        entry.rev = log.told(rev)
        entry.last = log.message(at: last)?.contentRev ?? last
        return entry
    }

    /// Decodes an entry, and checks it against the log as of its head.
    init(_ view: JSONObject, _ id: String, _ user: String, _ oracle: Oracle) throws(Violation) {
        let head = try Head(view.required("head").members("head"))
        epoch = head.epoch
        rev = head.rev
        record = try view.required("rev").integer("rev")
        let message = try view.required("lastMessage")
        last = message.isNull ? 0 : try FrameContent.Value(message: message).rev
        if oracle.isReplica {
            // While a log may have unknown changes, its entry need not be of one moment.
            try require(
                !oracle.origin.archive.logs(id, having: head).isEmpty,
                "a list's head that never was")
            return
        }
        guard let log = oracle.origin.archive.log(id, epoch: epoch) else {
            throw Violation("epoch \(epoch) never was")
        }
        try require(head == log.head(asOf: head.rev), "a list's head that never was")
        try require(
            record == log.rev(of: 0, asOf: rev), "a list's record is not as of its head")
        // The last message may be ahead of the head, never behind it.
        let isTrue = (rev...log.rev).contains { log.last(asOf: $0)?.rev ?? 0 == last }
        try require(
            isTrue, "a list's last message has rev \(last), which it was not from \(rev) on")
        try require(
            log.record(asOf: rev).participants.contains(user), "a list with another's conversation")
    }
}
