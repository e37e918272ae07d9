import Chat
import Ports
import Wire

/// The participants of a conversation whose log lives elsewhere, for answers while the origin is
/// away: all of them as the origin answered while the feed covered the conversation, and their read
/// markers from the feed since. Owned by the stream's readership, which restarts with each feed.
///
/// Valid for one value of slot 0: every other change of participants changes that.
struct Roster {
    /// The change of slot 0 as of which it is valid; nil until a request asks.
    private var record: Int?
    /// In the order of joining, as encoded by the origin; nil until all were read.
    private var people: [[UInt8]]?
    /// Read markers from the feed since the origin was first asked.
    private var marks: [ID: Int] = [:]

    /// Whether it needs the feed's markers.
    var isFollowed: Bool { record != nil }

    /// How many participants are kept.
    var count: Int { people?.count ?? 0 }

    /// Nothing is known until all were read again.
    mutating func forget() { people = nil }

    // MARK: - Changes

    /// The origin is asked, with slot 0 as of this change.
    mutating func expect(_ record: Int) {
        guard self.record != record else { return }
        self = Roster()
        self.record = record
    }

    /// The user has read or sent up to here.
    mutating func mark(_ user: ID, upTo seq: Int) {
        guard record != nil, seq > 0 else { return }
        marks[user] = max(marks[user] ?? 0, seq)
    }

    /// The origin answered.
    /// - Parameter record: the change of slot 0 known when the question was asked.
    mutating func adopt(_ list: ParticipantList, _ range: ParticipantsRequest, as record: Int) {
        guard record == self.record else { return }
        if list.participants.count == list.total {
            people = range.order == .asc ? list.participants : list.participants.reversed()
        } else if !agrees(with: list, range) {
            people = nil
        }
    }

    /// The origin showed a part of them: later answers must not be older.
    /// - Returns: whether it differs from what is known in markers at most.
    private mutating func agrees(with list: ParticipantList, _ range: ParticipantsRequest) -> Bool {
        guard let people, people.count == list.total else { return false }
        let known = Self.part(of: people, range)
        guard known.count == list.participants.count else { return false }
        for (known, shown) in zip(known, list.participants) where known != shown {
            guard var old = try? Participant(known), let new = try? Participant(shown) else {
                return false
            }
            old.lastReadSeq = new.lastReadSeq
            guard old == new else { return false }
            mark(new.id.id, upTo: new.lastReadSeq ?? 0)
        }
        return true
    }

    // MARK: - Answers

    /// - Parameters:
    ///   - record: the change of slot 0 at the stream's position.
    ///   - members: the participants then.
    /// - Returns: nil if that is not known.
    func list(
        _ range: ParticipantsRequest, as record: Int, of members: Set<ID>
    ) -> ParticipantList? {
        guard record == self.record, let people, people.count == members.count else { return nil }
        var list = ParticipantList(participants: [], total: people.count)
        for known in Self.part(of: people, range) {
            guard var participant = try? Participant(known), members.contains(participant.id.id)
            else { return nil }
            if let mark = marks[participant.id.id], mark > participant.lastReadSeq ?? 0 {
                participant.lastReadSeq = mark
                list.participants.append(participant.json)
            } else {
                list.participants.append(known)
            }
        }
        return list
    }

    private static func part(of people: [[UInt8]], _ range: ParticipantsRequest) -> [[UInt8]] {
        let all = range.order == .asc ? people : people.reversed()
        return range.limit <= 0
            ? all : Array(all.dropFirst(max(0, range.offset)).prefix(range.limit))
    }
}
