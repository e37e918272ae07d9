import Chat
import Engine
import JSON
import Ports
import Testing
import Wire

@testable import Simulation

/// Lists are not told of reactions, and of nothing less for it.
@Suite struct ReactionListTests {
    private static func message(rev: Int, contentRev: Int?) -> EncodedMessage {
        EncodedMessage(
            seq: 1, rev: rev, id: "m", author: "ann", isDeleted: false,
            createdAt: Timestamp(milliseconds: 0), contentRev: contentRev, json: [])
    }

    private static func isTold(
        _ type: DeltaType, at rev: Int, value: Int, contentRev: Int?
    ) -> Bool {
        FeedEvent.message(
            conversation: "c1", type, message(rev: value, contentRev: contentRev),
            head: Head(epoch: "e", seq: 1, rev: rev, mark: "m", floor: 1)
        ).isToldToLists
    }

    /// A feed that reads what it reports may bring a value that is newer than the change.
    @Test func itIsTheChangeThatCounts() {
        #expect(Self.isTold(.inserted, at: 5, value: 6, contentRev: 5))
        #expect(!Self.isTold(.updated, at: 6, value: 6, contentRev: 5))
        #expect(Self.isTold(.updated, at: 5, value: 6, contentRev: 5))
        #expect(!Self.isTold(.updated, at: 5, value: 6, contentRev: 2))
        #expect(Self.isTold(.updated, at: 6, value: 6, contentRev: 6))
        #expect(Self.isTold(.updated, at: 6, value: 6, contentRev: nil))
        #expect(Self.isTold(.deleted, at: 6, value: 6, contentRev: nil))
    }

    private static func react(_ isOn: Bool = true, to id: String) -> Operation {
        .react(conversation: "c1", id: id, ReactionCall(key: "+1", isOn: isOn))
    }

    @Test(arguments: [false, true])
    func aWatcherIsToldOfTheNextMessageOnly(_ isSubscribed: Bool) throws {
        let rig = Rig()
        rig.create()
        rig.say("one")
        let reader = rig.connect("ben")
        if isSubscribed { rig.send(reader, 2, "subscribeMessages", #""conversation":"c1""#) }
        let watcher = rig.connect("ann")
        rig.send(watcher, 2, "subscribeConversations")
        _ = rig.take(watcher)
        let id = try #require(rig.origin.log("c1")).message(1).id
        // Two in one batch: the log is read ahead of the second event.
        rig.tell(
            rig.writeUntold(Self.react(to: id), by: .user("ben"))
                + rig.writeUntold(Self.react(false, to: id), by: .user("ben")))
        rig.write(Self.react(to: id), by: .user("ben"))
        #expect(rig.take(watcher).isEmpty)
        rig.say("two")
        let told = rig.take(watcher).filter { $0["event"]?.string == "conversations" }
        #expect(told.count == 1)
    }

    /// Whatever the watcher was told last.
    @Test func aWatcherOfAReplicaIsToldOfTheNextMessageOnly() throws {
        let world = try ReplicaStory.begin(messages: 1)
        try world.join(1)
        try world.subscribe(1)
        try world.watch(0)
        try world.pass(30)
        let known = world.clients[0].list.entries["c1"]
        let id = try #require(world.origin.log("c1")).message(1).id
        for isOn in [true, false, true] { try world.write(Self.react(isOn, to: id), by: "ben") }
        #expect(world.clients[0].list.entries["c1"] == known && known != nil)
        try world.say()
        #expect(world.clients[0].list.entries["c1"]?.rev == world.head()?.rev)
    }
}
