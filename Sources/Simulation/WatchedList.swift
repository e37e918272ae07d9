import Chat
import Engine
import JSON
import Ports
import Wire

/// A client's list of conversations, kept by the simplest rule there is: the last event is right,
/// and so is a reply behind it. That holds only because replies and events stand in one order,
/// which is what it checks. Of two replies the one that knows more counts.
struct WatchedList {
    /// What of an entry is compared with the truth.
    struct Entry: Hashable {
        var epoch: String
        /// The newest change of the log, of its record and of its last message.
        var rev: Int
        var record: Int
        var last: Int
        /// It came with an event.
        var isTold = false
    }

    private(set) var entries: [String: Entry] = [:]
    /// What to ask with the next time.
    private(set) var token: String?
    var isWatched = false
    /// The request that the list began with.
    private var first = 0

    /// An event's delta.
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
        if result["complete"]?.bool != true { entries = [:] }
        for view in try result.required("conversations").elements("conversations") {
            try show(view, in: result, request: request, user, oracle)
        }
        for id in try result.required("removed").elements("removed") {
            entries[id.string ?? ""] = nil
        }
    }

    /// A conversation in a reply. Whoever does not watch the list has none to keep, and what was
    /// asked for before the list began may be older than it.
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
            // A log that was lost, or a gateway that is behind, may have told more.
            try require(
                !earlier.isTold || oracle.isReplica,
                "a reply as of \(entry.rev), an event before it was as of \(earlier.rev)")
        } else {
            entries[id] = entry
        }
    }

    /// - Throws: `Violation`, if the list is not what the user's list is now.
    func checkWhole(_ user: String, _ oracle: Oracle) throws(Violation) {
        let views = oracle.origin.list(of: user)
        let truth = Dictionary(
            uniqueKeysWithValues: views.map { view in
                let entry = Entry(
                    epoch: view.head.epoch, rev: view.head.rev, record: view.record.rev,
                    last: view.lastMessage?.rev ?? 0)
                return (view.record.id, entry)
            })
        for id in Set(truth.keys).union(entries.keys).sorted() {
            var entry = entries[id]
            entry?.isTold = false
            try require(
                truth[id] == entry,
                "the list has \(entries[id].map { "\($0)" } ?? "no") \(id) at rest,"
                    + " it is \(truth[id].map { "\($0)" } ?? "not there")")
        }
    }
}

extension WatchedList.Entry {
    /// Reads an entry, and checks that it is what the log was as of its head.
    init(_ view: JSONObject, _ id: String, _ user: String, _ oracle: Oracle) throws(Violation) {
        let head = try Head(view.required("head").members("head"))
        epoch = head.epoch
        rev = head.rev
        record = try view.required("rev").integer("rev")
        let message = try view.required("lastMessage")
        last = message.isNull ? 0 : try FrameContent.Value(message: message).rev
        if oracle.isReplica {
            // A list is as of no moment while there may be more than is known.
            try require(
                !oracle.origin.logs(id, having: head).isEmpty, "a list's head that never was")
            return
        }
        guard let log = oracle.origin.log(id, epoch: epoch) else {
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
