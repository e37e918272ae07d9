import Cache
import Ports
import SQLite
import Wire

/// What the jobs of a batch change alike is written once for all of them: where the list stands at
/// the end of it; and, for messages sent one after the other to the same conversation, where that
/// stands and how far their authors have read. Whoever reads the file sees none of it before the
/// commit; within the batch all but another such message finds it written.
extension MessageLog {
    /// The list, as it is once the batch is written.
    struct List {
        var rev: Int
        var mark: String
        /// How many messages are new with the batch.
        var messages = 0
    }

    /// A place up to which somebody has read.
    struct Marker {
        var user: String
        var seq: Int
    }

    /// The conversation to which the last jobs have sent.
    struct Sending {
        var log: LogRow
        /// Who may, as far as it was asked.
        var members: Set<[UInt8]> = []
        /// Of the authors, by their ids.
        var markers: [[UInt8]: Marker] = [:]
        var isChanged = false
    }

    /// Counts one change of the list and gives its rev there.
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
        // Let go of first: what can't be written is not there for whoever tries again.
        self.list = nil
        try writes.write(list: list.rev, messages: list.messages)
    }

    /// Whether the operation sends to where the ones before it have sent.
    func isContinued(by operation: Operation) -> Bool {
        guard case .send(let id, _) = operation, let sending else { return false }
        return sending.log.id.isSameID(id)
    }

    /// As `open`, for messages: what is known of the conversation since others of the batch were
    /// sent to it need not be read.
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

    /// Messages were sent: the conversation stands here, and their authors have read them.
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
