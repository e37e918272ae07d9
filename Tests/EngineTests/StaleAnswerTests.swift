import Chat
import Engine
import Ports
import Simulation
import Testing
import Wire

/// What was asked of a log before there was reason to doubt it proves nothing.
@Suite struct StaleAnswerTests {
    @Test func aHeadThatWasReadBeforeItsLogEnded() throws {
        let world = try ReplicaStory.begin(messages: 3) { $0.verifyInterval = 1_000 }
        try world.subscribe(0)
        world.hold(.answers)
        // The heads are compared now and then: this one is read, and the answer on its way.
        try world.pass(10)
        world.hold(.questions)
        try world.write(.deleteConversation("c1"))
        #expect(world.held(by: 0).isOpen)
        try world.release(.answers)
        // Everything was fine when it was read.
        #expect(world.held(by: 0).isOpen)
        #expect(world.held(by: 0).isSubscribed)
        try world.release(.questions)
        #expect(!world.held(by: 0).isSubscribed)
        try world.settle()
    }

    @Test func anAbsenceThatWasReadBeforeTheConversationCameBack() throws {
        let world = try ReplicaStory.begin(messages: 3) { $0.wait = 100_000 }
        try world.watch(0)
        try world.write(.deleteConversation("c1"))
        world.hold(.answers)
        // It is not there, as far as the origin was asked.
        try world.subscribe(0)
        try world.write(.put(id: "c1", .init(participants: ["ann", "ben"])))
        try world.release(.answers)
        #expect(world.held(by: 0).isSubscribed)
        // Nor is it missing from the list.
        try world.settle()
    }

    /// Ann saw change 6 at the first gateway. The second follows the log for Ben's list, from
    /// change 7 on.
    private static func resumer() throws -> ReplicaWorld {
        let world = try ReplicaStory.begin(messages: 5, gateways: 2) {
            ($0.verifyInterval, $0.wait) = (60_000, 100_000)
        }
        try world.subscribe(0)
        try world.leave(0)
        try world.say()
        try world.join(1, gateway: 1)
        try world.watch(1)
        try world.join(0, gateway: 1)
        _ = world.questions()
        return world
    }

    private static func vouchings(_ world: ReplicaWorld) -> Int {
        world.questions().count {
            if case .changes(_, _, .some, limit: 1, _) = $0.bare { true } else { false }
        }
    }

    @Test func whatTheLogHadCountsThoughTheStreamWentOn() throws {
        let world = try Self.resumer()
        world.hold(.answers)
        try world.subscribe(0, resuming: true)
        for _ in 0..<3 {
            try world.say(2)
            try world.answerOnce()
        }
        try world.release(.answers)
        #expect(world.held(by: 0).runs == [[1, 12]])
        #expect(Self.vouchings(world) == 1)
        try world.settle()
    }

    @Test func aLogThatWasPutBackSaysNothingOfWhatWasSeen() throws {
        let world = try Self.resumer()
        let before = world.head()
        world.hold(.feed)
        world.windBack(by: 1)
        try world.say()
        try world.subscribe(0, resuming: true)
        #expect(Self.vouchings(world) == 1)
        // The comparison that follows finds it.
        #expect(world.head()?.epoch != before?.epoch)
        try world.release(.feed)
        try world.settle()
    }
}
