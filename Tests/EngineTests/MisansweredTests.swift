import Simulation
import Testing

/// An origin that answers something else than it is asked: what it sends is read from bytes, and
/// none of them stops the process.
@Suite struct MisansweredTests {
    /// What watches is open until the origin answers what it is asked, and is whole then.
    @Test func anOutageGoesOnUntilTheAnswersFit() throws {
        let world = try ReplicaStory.begin(messages: 6)
        try world.subscribe(0)
        world.hold(.kinds)
        try world.cut()
        try world.say(3)
        _ = world.questions()
        try world.pass(60)
        #expect(world.held(by: 0).isOpen && world.held(by: 0).asOf == 7)
        // Left in peace after each: no question a turn.
        let count = world.questions().count
        #expect(count < 40, "\(count) questions in twelve seconds")
        try world.release(.kinds)
        try world.settle()
        #expect(!world.held(by: 0).isOpen && world.held(by: 0).asOf == 10)
    }

    /// Somebody who asks is told, and can ask again.
    @Test func aRequestIsRefusedAndNotLost() throws {
        let world = try ReplicaStory.begin(messages: 6)
        world.hold(.kinds)
        try world.subscribe(0)
        try world.pass(100)
        #expect(world.isAnswered(0))
        try world.release(.kinds)
        try world.settle()
    }
}
