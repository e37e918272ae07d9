import Chat
import Engine
import JSON
import Ports
import Wire

/// The oracle's checks of answers that a gateway gives while its origin is away.
extension Oracle {
    /// The whole conversation was like this as of one change, with a reading state that the user
    /// had.
    /// - Throws: `Violation` if it never was.
    func checkKnown(_ view: JSONObject, _ id: String, _ user: String) throws(Violation) {
        let head = try Head(view.required("head").members("head"))
        let isTrue = origin.archive.logs(id, having: head).contains { log in
            log.tellings(of: [user]).contains { commit in
                places(of: user, in: log, asOf: head.rev, told: commit).contains { read in
                    view.shows(log, user, asOf: head.rev, read: read)
                }
            }
        }
        try require(isTrue, "an open answer with what \(user) never had in \(id): \(head)")
    }

    /// The participants were these as of one change, in this order and with these read markers.
    /// - Throws: `Violation` if they never were.
    func checkPeople(
        _ result: JSONObject, _ range: ParticipantsRequest, of id: String, shownTo user: String
    ) throws(Violation) {
        var told: [Participant?] = []
        for json in try result.required("participants").elements("participants") {
            told.append(try? Participant(json.bytes))
        }
        let total = result["total"]?.int
        let isTrue = (origin.archive.all[id] ?? []).contains { log in
            (1..<log.rev + 1).contains { rev in
                let all = log.record(asOf: rev).participants
                let people = log.people(range, asOf: rev)
                guard all.contains(user), all.count == total, people == told.map({ $0?.id })
                else { return false }
                // All were read with this record, or later.
                let first = log.changes[log.record(asOf: rev).rev - 1].commit
                return log.tellings(of: people).contains { commit in
                    let commit = max(commit, first)
                    return zip(people, told).allSatisfy { user, told in
                        places(of: user, in: log, asOf: rev, told: commit).contains {
                            told
                                == Participant(
                                    id: user, lastReadSeq: $0,
                                    joinedSeq: log.joinedSeq(of: user, asOf: rev))
                        }
                    }
                }
            }
        }
        try require(isTrue, "an open answer with people who never were in \(id) together")
    }

    /// How far the user may have read: a marker is no change of the log, and a feed tells of it
    /// before or behind the changes that were made beside it. What was read, or sent, in another
    /// branch of the log was read.
    private func places(
        of user: String, in log: ModelLog, asOf rev: Int, told commit: Int
    ) -> [Int] {
        let others = (origin.archive.all[log.conversation] ?? []).filter {
            $0.epoch == log.epoch && $0.branch != log.branch
        }
        return [log.read(by: user, asOf: rev, told: commit)]
            + others.flatMap { $0.markers[user] ?? [] }.map(\.seq)
    }
}

extension ModelLog {
    /// The commits up to which a feed may have told of the users' read markers.
    fileprivate func tellings(of users: [String]) -> Set<Int> {
        Set(users.flatMap { markers[$0] ?? [] }.map(\.commit)).union([0])
    }
}

extension JSONObject {
    /// - Parameter rev: the newest change that counts; others of the same commit may follow it,
    ///   since a feed that ends may have brought only some.
    fileprivate func shows(
        _ log: ModelLog, _ user: String, asOf rev: Int, read: Int
    ) -> Bool {
        let record = log.record(asOf: rev)
        guard record.participants.contains(user),
            self["rev"]?.int == record.rev, self["title"]?.string == record.title,
            self["participants"]?.array?.compactMap(\.string) == record.participants
        else { return false }
        // After a trim the earlier state is no longer known here.
        guard self["head"]?.object?["floor"]?.int == log.floor else { return true }
        let reader = log.reader(user, asOf: rev, read: read)
        return self["lastMessage"]?.bytes ?? [] == log.last(asOf: rev)?.json ?? Array("null".utf8)
            && self["unreadCount"]?.int == reader.unreadCount
            && self["unreadMentions"]?.int == reader.unreadMentions
            && self["lastReadSeq"]?.int == reader.lastReadSeq
    }
}
