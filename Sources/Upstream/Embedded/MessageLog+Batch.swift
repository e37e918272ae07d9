import Cache
import Ports
import SQLite
import Wire

/// State that many jobs of a batch change is written once for all of them: the list's position, at
/// the end of the batch; and, for consecutive messages to one conversation, its head and the
/// authors' read markers, when another job comes. Readers of the file see nothing before the
/// commit; within the batch every job but another send to the same conversation finds it written.
extension MessageLog {
    /// The list as it will be after the batch.
    struct List {
        var rev: Int
        var mark: String
        /// New messages in the batch.
        var messages = 0
    }

    /// A read marker.
    struct Marker {
        var user: String
        var seq: Int
    }

    /// The conversation that the last jobs sent to.
    struct Sending {
        var log: LogRow
        /// Users known to be members, by the checks so far.
        var members: Set<[UInt8]> = []
        /// The authors' read markers, by user id.
        var markers: [[UInt8]: Marker] = [:]
        var isChanged = false
    }

    /// Counts one change of the list.
    /// - Returns: its rev in the list.
    func touch(messages: Int = 0) throws(CacheError) -> Int {
        var list: List
        if let known = self.list {
            list = known
        } else {
            let stored = try writes.list()
            list = List(rev: stored.rev, mark: stored.mark)
        }
        list.rev += 1
        list.messages += messages
        if list.mark != mark {
            try writes.markList(from: list.rev, mark)
            list.mark = mark
        }
        self.list = list
        touches += 1
        return list.rev
    }

    func settleList() throws(CacheError) {
        guard let list else { return }
        // Cleared first: if the write fails, a retry must not find it.
        self.list = nil
        try writes.write(list: list.rev, messages: list.messages)
    }

    /// Whether the operation sends to the same conversation as the jobs before it.
    func isContinued(by operation: Operation) -> Bool {
        guard case .send(let id, _) = operation, let sending else { return false }
        return sending.log.id.isSameID(id)
    }

    /// Like `open`, for sends: uses what earlier sends of the batch to this conversation have read.
    func openToSend(_ id: String, by caller: Caller) throws -> Access {
        guard let sending else {
            let access = try open(id, by: caller)
            self.sending = Sending(log: access.log)
            if let user = access.user { self.sending?.members.insert(user.exactID) }
            return access
        }
        guard case .user(let user) = caller else {
            return Access(log: sending.log, user: nil, isAdmin: true)
        }
        if !sending.members.contains(user.exactID) {
            _ = try open(id, by: caller)
            self.sending?.members.insert(user.exactID)
        }
        return Access(log: sending.log, user: user, isAdmin: false)
    }

    /// Records the conversation's new head and that the authors have read up to their messages.
    func noteSends(_ log: LogRow, _ markers: [[UInt8]: Marker]) {
        sending?.log = log
        sending?.markers.merge(markers) { $1 }
        sending?.isChanged = true
    }

    func settleSends() throws(CacheError) {
        guard let sending else { return }
        self.sending = nil
        guard sending.isChanged else { return }
        let log = sending.log
        try writes.update(log)
        for marker in sending.markers.values {
            try writes.raiseMarker(marker.user, to: marker.seq, log, at: log.activity, isSent: true)
        }
    }
}
