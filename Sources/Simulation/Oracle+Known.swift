import Chat
import Engine
import JSON
import Ports
import Wire

/// The oracle's checks of answers that a gateway gives while its origin is away.
extension Oracle {
    /// The whole conversation was like this as of one change, with the user's reading state.
    /// - Throws: `Violation` if it never was.
    func checkKnown(_ view: JSONObject, _ id: String, _ user: String) throws(Violation) {
        let head = try Head(view.required("head").members("head"))
        let isTrue = origin.archive.logs(id, having: head).contains { log in
            readings(of: log, by: user).contains { log in
                // A read marker is no change: the feed may tell of one before the change that was
                // the newest when it was set.
                let first = log.commits(at: head.rev, upTo: origin.commit).lowerBound
                return (first...max(first, origin.commit)).contains { commit in
                    view.shows(log, user, asOf: head.rev, atCommit: commit)
                }
            }
        }
        try require(isTrue, "an open answer with what \(user) never had in \(id): \(head)")
    }
}

extension Oracle {
    /// The log, and the same with each read marker of the user in another branch of it: a marker is
    /// no change of the log, and what was read, or sent, in one branch was read.
    private func readings(of log: ModelLog, by user: String) -> [ModelLog] {
        let others = (origin.archive.all[log.conversation] ?? []).filter {
            $0.epoch == log.epoch && $0.branch != log.branch
        }
        return [log]
            + others.flatMap { $0.markers[user] ?? [] }.map { marker in
                var log = log
                log.markers[user] = [(commit: 0, seq: marker.seq)]
                return log
            }
    }

    /// The participants were these as of one change, in this order and with these read markers.
    /// - Throws: `Violation` if they never were.
    func checkPeople(
        _ result: JSONObject, _ range: ParticipantsRequest, of id: String, shownTo user: String
    ) throws(Violation) {
        var told: [[UInt8]] = []
        for json in try result.required("participants").elements("participants") {
            told.append(json.bytes)
        }
        let total = result["total"]?.int
        let isTrue = (origin.archive.all[id] ?? []).contains { log in
            (1..<log.rev + 1).contains { rev in
                guard log.record(asOf: rev).participants.contains(user) else { return false }
                return log.commits(at: rev, upTo: origin.commit).contains { commit in
                    let truth = log.participants(range, asOf: rev, atCommit: commit)
                    return truth.total == total
                        && truth.participants.map { Self.normal($0) }
                            == told.map { Self.normal($0) }
                }
            }
        }
        try require(isTrue, "an open answer with people who never were in \(id) together")
    }

    /// In the library's own encoding.
    private static func normal(_ participant: [UInt8]) -> [UInt8]? {
        (try? Participant(participant))?.json
    }
}

extension JSONObject {
    /// - Parameter rev: the newest change that counts; others of the same commit may follow it,
    ///   since a feed that ends may have brought only some.
    fileprivate func shows(
        _ log: ModelLog, _ user: String, asOf rev: Int, atCommit commit: Int
    ) -> Bool {
        let record = log.record(asOf: rev)
        guard self["rev"]?.int == record.rev, self["title"]?.string == record.title,
            self["participants"]?.array?.compactMap(\.string) == record.participants
        else { return false }
        // After a trim the earlier state is no longer known here.
        guard self["head"]?.object?["floor"]?.int == log.floor else { return true }
        let reader = log.reader(user, asOf: rev, atCommit: commit)
        return self["lastMessage"]?.bytes ?? [] == log.last(asOf: rev)?.json ?? Array("null".utf8)
            && self["unreadCount"]?.int == reader?.unreadCount
            && self["lastReadSeq"]?.int == reader?.lastReadSeq
    }
}
