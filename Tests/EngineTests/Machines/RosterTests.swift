import Chat
import Ports
import Testing
import Wire

@testable import Engine

/// Who takes part in a conversation, as it is known while the origin is away: alone.
@Suite struct RosterTests {
    private static let all = ParticipantsRequest(order: .asc)
    private static let members: Set<ID> = ["ann".id, "ben".id, "cat".id]

    private static func person(_ id: String, read: Int, name: String? = nil) -> [UInt8] {
        Participant(id: id, name: name, lastReadSeq: read).json
    }

    private static let people = [
        person("ann", read: 1), person("ben", read: 2), person("cat", read: 3),
    ]

    /// All were read, as of change 4 of slot 0.
    private static func read() -> Roster {
        var roster = Roster()
        roster.expect(4)
        roster.adopt(ParticipantList(participants: people, total: 3), all, as: 4)
        return roster
    }

    @Test func whatWasReadWholeIsAnsweredInParts() {
        let roster = Self.read()
        let part = ParticipantsRequest(limit: 1, offset: 1, order: .desc)
        #expect(roster.list(part, as: 4, of: Self.members)?.participants == [Self.people[1]])
        let last = ParticipantsRequest(limit: 2, order: .desc)
        let list = roster.list(last, as: 4, of: Self.members)
        #expect(list?.participants == [Self.people[2], Self.people[1]] && list?.total == 3)
    }

    @Test func aPartIsNotAllOfThem() {
        var roster = Roster()
        roster.expect(4)
        let part = ParticipantsRequest(limit: 2, order: .asc)
        roster.adopt(
            ParticipantList(participants: Array(Self.people.prefix(2)), total: 3), part, as: 4)
        #expect(roster.list(part, as: 4, of: Self.members) == nil)
    }

    @Test func itIsOfOneValueOfSlotZero() {
        var roster = Self.read()
        #expect(roster.list(Self.all, as: 5, of: Self.members) == nil)
        #expect(roster.list(Self.all, as: 4, of: ["ann".id, "ben".id]) == nil)
        #expect(roster.list(Self.all, as: 4, of: ["ann".id, "ben".id, "dan".id]) == nil)
        // Asked before the change, answered behind it.
        roster.expect(5)
        roster.adopt(ParticipantList(participants: Self.people, total: 3), Self.all, as: 4)
        #expect(roster.list(Self.all, as: 5, of: Self.members) == nil)
    }

    @Test func markersAreFollowedFromTheQuestionOn() {
        var roster = Roster()
        roster.expect(4)
        roster.mark("ann".id, upTo: 5)
        roster.mark("ben".id, upTo: 1)
        roster.adopt(ParticipantList(participants: Self.people, total: 3), Self.all, as: 4)
        roster.mark("cat".id, upTo: 7)
        roster.mark("cat".id, upTo: 6)
        let list = roster.list(Self.all, as: 4, of: Self.members)
        let read = list?.participants.map { try? Participant($0).lastReadSeq }
        #expect(read == [5, 2, 7])
    }

    @Test func nothingOlderIsAnsweredThanAPartHasShown() {
        var roster = Self.read()
        let part = ParticipantsRequest(limit: 1, offset: 1, order: .asc)
        func show(_ person: [UInt8], of total: Int = 3) {
            roster.adopt(ParticipantList(participants: [person], total: total), part, as: 4)
        }
        show(Self.person("ben", read: 6))
        let list = roster.list(Self.all, as: 4, of: Self.members)
        #expect(list?.participants[1] == Self.person("ben", read: 6))
        // A name that nobody told of yet.
        show(Self.person("ben", read: 6, name: "Ben"))
        #expect(roster.list(Self.all, as: 4, of: Self.members) == nil)
        roster = Self.read()
        show(Self.person("ben", read: 2), of: 4)
        #expect(roster.list(Self.all, as: 4, of: Self.members) == nil)
    }
}
