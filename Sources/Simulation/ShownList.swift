import Chat
import Engine
import JSON
import Ports
import Wire

/// What one connection was shown of a user's list, to judge later open answers (while the gateway's
/// origin is away): nothing older, and no conversation that the user was told to have left.
struct ShownList {
    private struct Entry {
        var epoch: String
        /// The newest change with which it was shown.
        var rev: Int
        var isIn: Bool
    }

    private var entries: [String: Entry] = [:]
    /// How many open answers about lists were judged.
    private(set) var judged = 0

    mutating func begin() { entries = [:] }

    /// The conversation was shown as one of the user's.
    mutating func show(_ view: JSONObject, _ id: String) throws(Violation) {
        let head = try Head(view.required("head").members("head"))
        if let known = entries[id], known.epoch == head.epoch, known.rev >= head.rev { return }
        entries[id] = Entry(epoch: head.epoch, rev: head.rev, isIn: true)
    }

    /// The user was told to be out of it; of which of several logs with the name is not said. A
    /// gateway that can't rule out another log says the same, and shows the log again: then the
    /// user never left.
    mutating func remove(_ id: String, _ user: String, _ oracle: Oracle) {
        if oracle.origin.archive.all[id]?.count == 1, let entry = entries[id],
            let log = oracle.only(id, entry.epoch),
            log.ended != nil || log.lacks(user, after: entry.rev, upTo: log.rev)
        {
            entries[id]?.isIn = false
        } else {
            entries[id] = nil
        }
    }

    /// Judges an open answer.
    /// - Parameter isWhole: whether it must hold all of the list.
    mutating func judge(
        _ result: JSONObject, isWhole: Bool, _ user: String, _ oracle: Oracle
    ) throws(Violation) {
        guard result["open"]?.bool == true else { return }
        judged += 1
        var views: [(id: String, head: Head)] = []
        var unread = UnreadTotal(messages: 0, conversations: 0)
        for json in try result.required("conversations").elements("conversations") {
            let view = try json.members("conversation")
            let id = view["id"]?.string ?? ""
            views.append((id, try Head(view.required("head").members("head"))))
            unread.add(
                ReaderState(
                    lastReadSeq: view["lastReadSeq"]?.int ?? 0,
                    unreadCount: view["unreadCount"]?.int ?? 0,
                    unreadMentions: view["unreadMentions"]?.int ?? 0))
        }
        for (id, head) in views { try checkNewer(id, head, user, oracle) }
        let places = views.map { view in oracle.cursor(of: view.id, view.head) }
        try require(
            zip(places, places.dropFirst()).allSatisfy { $0.stands(before: $1) },
            "an open list that is not in the order of activity")
        guard isWhole else { return }
        try require(result["total"]?.int == views.count, "an open list with another total")
        if let total = result["unreadTotal"]?.object {
            try require(
                total["messages"]?.int == unread.messages
                    && total["conversations"]?.int == unread.conversations
                    && total["mentions"]?.int == unread.mentions,
                "an open list whose total of unread messages is not that of its conversations")
        }
        let listed = Set(views.map(\.id))
        for (id, entry) in entries where entry.isIn && !listed.contains(id) {
            guard let log = oracle.only(id, entry.epoch), log.ended == nil else { continue }
            try require(
                log.lacks(user, after: entry.rev, upTo: log.rev),
                "an open list without \(id), which \(user) was shown and has not left")
        }
    }

    private func checkNewer(
        _ id: String, _ head: Head, _ user: String, _ oracle: Oracle
    ) throws(Violation) {
        guard let entry = entries[id], entry.epoch == head.epoch,
            let log = oracle.only(id, head.epoch)
        else { return }
        try require(
            head.rev >= entry.rev,
            "an open list with \(id) as of \(head.rev), shown before as of \(entry.rev)")
        try require(
            entry.isIn || log.lacks(user, after: entry.rev, upTo: head.rev),
            "an open list with \(id), of which \(user) was told to be out")
    }
}

extension Oracle {
    /// A user is told that a conversation left the list only if it has: a reading of the list from
    /// before they joined is no departure.
    func checkDeparture(_ id: String, of user: String) throws(Violation) {
        guard let logs = origin.archive.all[id], logs.count == 1, let log = logs.first,
            log.ended == nil, !origin.doubted.contains(id)
        else { return }
        try require(
            log.lacks(user, after: 0, upTo: log.rev),
            "\(user) is told to be out of \(id), and was in it throughout")
    }

    /// The log of this epoch, unless it has branches.
    fileprivate func only(_ id: String, _ epoch: String) -> ModelLog? {
        let logs = (origin.archive.all[id] ?? []).filter { $0.epoch == epoch }
        return logs.count == 1 ? logs.first : nil
    }

    fileprivate func cursor(of id: String, _ head: Head) -> ActivityCursor {
        let activity = origin.archive.logs(id, having: head).last?.activity(asOf: head.rev)
        return ActivityCursor(activity: activity ?? 0, id: id)
    }
}
