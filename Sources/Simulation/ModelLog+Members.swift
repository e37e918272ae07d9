import Chat
import JSON
import Ports
import Wire

/// What the origin, its answers and the oracle ask a log.
extension ModelLog {
    /// The time of the newest message sent, or of the newest change of the record.
    package func activity(asOf rev: Int) -> Int64 {
        let changed = record(asOf: rev).updatedAt
        let sent = stride(from: 1, through: highest(asOf: rev), by: 1)
            .map { message($0, asOf: rev).createdAt }
        return max(changed, sent.max() ?? changed).milliseconds
    }

    /// Whether the user took part at any time between the two commits.
    func had(_ user: String, betweenCommits commits: ClosedRange<Int>) -> Bool {
        if let ended, ended <= commits.lowerBound { return false }
        let first = max(rev(atCommit: commits.lowerBound), 1)
        return stride(from: first, through: rev(atCommit: commits.upperBound), by: 1).contains {
            record(asOf: $0).participants.contains(user)
        }
    }

    /// The participants on a page.
    func people(_ request: ParticipantsRequest, asOf rev: Int) -> [String] {
        let all = record(asOf: rev).participants
        let ordered = request.order == .asc ? all : all.reversed()
        guard request.limit > 0 else { return ordered }
        return Array(ordered.dropFirst(request.offset).prefix(request.limit))
    }

    /// How far the user has read, as of a change, for who was told of the read markers up to a
    /// commit: a marker that came with a change is of that change.
    func read(by user: String, asOf rev: Int, told commit: Int) -> Int {
        let commits = Set(changes.map(\.commit))
        let newest = changes[rev - 1].commit
        var read = 0
        for marker in markers[user] ?? [] {
            if !commits.contains(marker.commit) {
                if marker.commit <= commit { read = max(read, marker.seq) }
            } else if marker.commit < newest
                || marker.commit == newest && marker.seq <= highest(asOf: rev)
            {
                read = marker.seq
            }
        }
        return read
    }

    func participants(
        _ request: ParticipantsRequest, asOf rev: Int, atCommit commit: Int
    ) -> ParticipantList {
        ParticipantList(
            participants: people(request, asOf: rev).map { user in
                var json = JSONWriter()
                json.beginObject()
                json.member("id", string: user)
                let reader = reader(user, asOf: rev, atCommit: commit)
                json.member("lastReadSeq", int: reader?.lastReadSeq ?? 0)
                json.member("joinedSeq", int: joinedSeq(of: user, asOf: rev))
                json.endObject()
                return json.bytes
            }, total: record(asOf: rev).participants.count)
    }

    /// The message first sent with this id.
    func first(
        id: String
    ) -> (seq: Int, author: String, content: MessageContent)? {
        for change in changes {
            guard case .message(let message) = change.value, message.id == id,
                message.seq >= floor
            else { continue }
            return (message.seq, message.author, change.sent ?? message.said)
        }
        return nil
    }

    /// Whether the user took part at any time.
    func ever(had user: String) -> Bool {
        stride(from: 1, through: rev, by: 1).contains {
            record(asOf: $0).participants.contains(user)
        }
    }

    /// The commits at which this was the newest change.
    func commits(at rev: Int, upTo newest: Int) -> ClosedRange<Int> {
        let first = rev > 0 ? changes[rev - 1].commit : began
        return first...max(first, rev < self.rev ? changes[rev].commit - 1 : newest)
    }

    /// Whether a change in the range has a record without the user.
    func lacks(_ user: String, after first: Int, upTo last: Int) -> Bool {
        stride(from: first + 1, through: last, by: 1).contains {
            !record(asOf: $0).participants.contains(user)
        }
    }

    func has(_ user: String) -> Bool { record().participants.contains(user) }

    func isSame(as log: ModelLog) -> Bool { epoch == log.epoch && branch == log.branch }
}

extension EncodedMessage {
    /// Its content: a model's messages are whole.
    var said: MessageContent { (try? content()) ?? MessageContent() }
}
