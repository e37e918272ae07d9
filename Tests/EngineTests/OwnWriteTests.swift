import Engine
import Ports
import Simulation
import Testing
import Wire

/// A client whose write was acknowledged reads it from then on, or is told that the answer is open:
/// at the gateway that acknowledged it, and with the answer's head at every other. The oracle of
/// the simulation judges each answer; what a test expects comes on top.
@Suite struct OwnWriteTests {
    private func world(
        gateways: Int = 1, _ options: (inout SyncOptions) -> Void = { _ in }
    ) throws -> ReplicaWorld {
        let world = try ReplicaStory.begin(messages: 3, gateways: gateways, options)
        for gateway in 0..<gateways {
            // Every gateway is at the present of the conversation, by a subscription of its own.
            if gateway > 0 { try world.leave(0) }
            try world.join(0, gateway: gateway)
            try world.subscribe(0)
        }
        return world
    }

    /// Fetches so often that some name the write, and some don't.
    private func fetchAll(_ world: ReplicaWorld) throws {
        for _ in 0..<4 { try world.fetch(0, PageRequest()) }
    }

    @Test(arguments: [false, true])
    func aFeedThatStandsStillHidesNoAcknowledgedWrite(_ isDeletion: Bool) throws {
        let world = try world()
        world.hold(.feed)
        if isDeletion {
            world.delete(0, 3)
        } else {
            world.send(0, "Ann's own")
        }
        while !world.isAnswered(0) { try world.pass(1) }
        try fetchAll(world)
        // The origin was asked what the feed did not bring.
        #expect(world.held(by: 0).asOf == world.head()?.rev && !world.held(by: 0).isOpen)
        try world.settle()
    }

    @Test func whatTheServerAPIWroteIsNotMissedEither() throws {
        let world = try world { $0.gapGrace = 1_000 }
        world.hold(.feed)
        world.sayUnheard("the backend's own")
        let head = try #require(world.head())
        world.noteWritten(Written("c1", head))
        let before = world.held(by: 0).asOf
        world.ask(0, PageRequest())
        try world.pass(2)
        // It waits as long as the feed may bring it.
        #expect(!world.isAnswered(0) && before == head.rev - 1)
        try world.pass(10)
        #expect(world.isAnswered(0) && world.held(by: 0).asOf == head.rev)
        try world.settle()
    }

    /// The stream has yet to begin, and answers to writes overtake each other.
    @Test func theNewestOfTwoWritesIsNotMissedThoughTheOtherWasAnsweredLast() throws {
        let world = try ReplicaStory.begin(messages: 3) { $0.gapGrace = 1_000 }
        let older = try #require(world.head())
        world.hold(.answers)
        try world.subscribe(0)
        world.hold(.feed)
        world.sayUnheard("the backend's own")
        let newer = try #require(world.head())
        for head in [newer, older] { world.noteWritten(Written("c1", head)) }
        try world.release(.answers)
        try world.pass(10)
        #expect(world.held(by: 0).asOf == newer.rev)
        try world.settle()
    }

    @Test func anotherGatewayWaitsForTheWriteThatARequestNames() throws {
        let world = try world(gateways: 2) { $0.gapGrace = 100 }
        world.hold(.feed)
        world.send(0, "Ann's own")
        while !world.isAnswered(0) { try world.pass(1) }
        try world.leave(0)
        try world.join(0, gateway: 0)
        // A page that is joined to what is held names that; a subscription names the write, but for
        // one request in four.
        for _ in 0..<2 {
            try world.subscribe(0, resuming: true)
            while !world.isAnswered(0) { try world.pass(1) }
        }
        #expect(world.held(by: 0).asOf == world.head()?.rev)
        try world.settle()
    }

    @Test func whereTheOriginIsAwayTheAnswerIsOpen() throws {
        let world = try world(gateways: 2)
        world.send(0, "Ann's own")
        try world.pass()
        world.hold(.feed, .questions)
        world.send(0, "another")
        while !world.isAnswered(0) { try world.pass(1) }
        try world.leave(0)
        try world.join(0, gateway: 0)
        try world.subscribe(0, resuming: true)
        try world.pass(20)
        #expect(world.held(by: 0).isOpen)
        try world.settle()
    }

    @Test func aWriteThatTheLogLostIsToldOfAsAReset() throws {
        let world = try world(gateways: 2)
        world.send(0, "Ann's own")
        try world.pass()
        try world.leave(0)
        world.windBack(by: 1)
        try world.say(2)
        try world.join(0, gateway: 0)
        try world.subscribe(0)
        try fetchAll(world)
        #expect(world.held(by: 0).asOf <= world.head()?.rev ?? 0)
        try world.settle()
    }

    /// In a busy conversation there always is a change that the feed has not brought yet: a call
    /// waits for what was known when it came, and no longer.
    @Test func whatComesMeanwhileKeepsNobodyWaiting() throws {
        let world = try world { $0.gapGrace = 100_000 }
        world.hold(.feed)
        world.sayUnheard("first")
        let first = try #require(world.head())
        world.noteWritten(Written("c1", first))
        world.ask(0, PageRequest())
        try world.pass(1)
        world.sayUnheard("second")
        let second = try #require(world.head())
        world.noteWritten(Written("c1", second))
        #expect(!world.isAnswered(0))
        try world.hearOnce()
        try world.pass(1)
        #expect(world.isAnswered(0) && world.held(by: 0).asOf == first.rev)
        try world.settle()
    }
}
