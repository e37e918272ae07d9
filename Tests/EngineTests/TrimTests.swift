import Chat
import Engine
import Simulation
import Testing
import Wire

/// A cache that keeps the newest messages alone still serves older ones, and does not claim those
/// that it has dropped.
@Suite struct TrimTests {
    private func keeper(messages: Int, of kept: Int) throws -> ReplicaWorld {
        let world = try ReplicaStory.begin(messages: messages) { $0.trimAfter = 1 }
        world.trim(to: kept)
        return world
    }

    @Test func aPageFromFartherBackThanTheCacheKeeps() throws {
        let world = try keeper(messages: 30, of: 5)
        try world.subscribe(0, limit: 3)
        _ = world.questions()
        try world.fetch(0, PageRequest(before: .seq(10), limit: 5))
        #expect(world.held(by: 0).runs == [[5, 9], [28, 30]])
        // One question, though all that it brings is dropped again.
        #expect(world.questions().reads == 1)
        try world.settle()
    }

    @Test func whatIsDroppedIsNotClaimed() throws {
        let world = try keeper(messages: 10, of: 3)
        try world.subscribe(0)
        try world.say(10)
        try world.change(12)
        // After a restart the cache is all there is.
        world.hold(.link)
        try world.restart()
        try world.join(0)
        try world.subscribe(0, resuming: true)
        try world.pass(15)
        try world.join(1)
        try world.subscribe(1)
        try world.pass(15)
        #expect(world.held(by: 1).runs.subtracting([[18, 20]]).isEmpty)
        try world.release(.link)
        try world.settle()
    }

    @Test func aReadingBackwardsThatATrimOvertakes() throws {
        let world = try keeper(messages: 10, of: 4)
        try world.subscribe(0)
        try world.join(1)
        try world.subscribe(1)
        try world.leave(1)
        try world.say(8)
        world.hold(.answers)
        try world.join(1)
        // What changed since Ben left was dropped in part: the origin is asked, and is slow.
        try world.subscribe(1, resuming: true)
        try world.pass(15)
        world.hold(.reads)
        try world.change(16)
        try world.say(5)
        // Message 16 is dropped with its newest value, and what was asked before knows nothing of
        // it.
        try world.release(.answers)
        try world.release(.reads)
        try world.settle()
        #expect(world.held(by: 0).runs.last == 23)
    }
}
