import Chat
import Engine
import Ports
import Simulation
import Testing
import Wire

/// What could go wrong between a log that lives elsewhere and those who watch it, one story each.
@Suite struct ReplicaTraceTests {
    /// Ann reads slowly, and her outbox is small.
    private func slowReader() throws -> ReplicaWorld {
        var limits = Limits()
        limits.outboxSoft = 1_000
        let world = try ReplicaStory.begin(messages: 6, limits: limits, socket: 100)
        try world.subscribe(0)
        try world.stall(0)
        return world
    }

    @Test func aSlowGapThatSwallowsAnEditOfAHeldMessage() throws {
        let world = try slowReader()
        try world.say(4)
        try world.change(3)
        try world.say(4)
        try world.stall(0, false)
        // Message 3 was edited among what was shed: the client no longer holds it.
        #expect(world.held(by: 0).asOf == 16)
        #expect(!world.held(by: 0).runs.contains(3))
        try world.settle()
        #expect(world.held(by: 0).runs == [[1, 14]])
    }

    @Test func aReplyBetweenShedEvents() throws {
        let world = try slowReader()
        try world.say(4)
        try world.fetch(0, PageRequest(before: .seq(5), limit: 2))
        try world.change(4)
        try world.say(4)
        try world.stall(0, false)
        #expect(world.isAnswered(0))
        #expect(!world.held(by: 0).runs.contains(4))
        try world.settle()
    }

    @Test func aLiveEventOnTopOfAHole() throws {
        let world = try ReplicaStory.begin(messages: 3)
        try world.subscribe(0)
        world.hold(.feed)
        try world.say()
        world.loseFeed()
        try world.release(.feed)
        world.hold(.questions)
        try world.say()
        // It waits: in the hole somebody may have been removed.
        #expect(world.held(by: 0) == .init(asOf: 4, runs: [[1, 3]], isOpen: true))
        try world.release(.questions)
        try world.pass(10)
        #expect(world.held(by: 0) == .init(asOf: 6, runs: [[1, 5]]))
        try world.settle()
    }

    @Test func aPageReadBeforeAndAppliedAfterALiveEdit() throws {
        let world = try ReplicaStory.begin(messages: 20)
        try world.subscribe(0, limit: 3)
        world.hold(.answers)
        try world.fetch(0, PageRequest(before: .seq(10), limit: 5))
        try world.change(7)
        try world.release(.answers)
        try world.fetch(0, PageRequest(before: .seq(10), limit: 5))
        #expect(world.held(by: 0).asOf == 22)
        #expect(world.held(by: 0).runs.contains(5, 9))
        // Nor does the cache take the old value for the new one.
        try world.restart()
        try world.join(0)
        try world.subscribe(0, resuming: true)
        try world.settle()
    }

    @Test func aSubscriptionThatLapsedAndCameBackWithoutAFetch() throws {
        let world = try ReplicaStory.begin(messages: 3)
        try world.subscribe(0)
        world.hold(.acknowledgements)
        try world.cut()
        try world.say(2)
        world.hold(.questions)
        try world.release(.acknowledgements)
        // The feed is live again, and what it did not tell is not known yet.
        #expect(world.held(by: 0).isOpen)
        #expect(world.held(by: 0).asOf == 4)
        try world.release(.questions)
        #expect(world.held(by: 0) == .init(asOf: 6, runs: [[1, 5]]))
        try world.settle()
    }

    @Test func aRecreatedConversation() throws {
        let world = try ReplicaStory.begin(messages: 5)
        try world.subscribe(0)
        let before = world.head()
        world.hold(.link)
        try world.cut()
        try world.write(
            .deleteConversation("c1"), .put(id: "c1", .init(participants: ["ann", "ben"])))
        try world.say(4)
        try world.release(.link)
        #expect(!world.held(by: 0).isSubscribed)
        #expect(world.held(by: 0).runs.isEmpty)
        try world.subscribe(0)
        #expect(world.held(by: 0).runs == [[1, 4]])
        #expect(world.head()?.epoch != before?.epoch)
        try world.settle()
    }

    @Test func aForkedMasterWithEqualSeqAndRev() throws {
        let world = try ReplicaStory.begin(messages: 5)
        try world.subscribe(0)
        let before = world.head()
        world.hold(.link)
        world.failOver(losing: 2)
        try world.say(2)
        #expect(world.head()?.seq == before?.seq)
        #expect(world.head()?.rev == before?.rev)
        #expect(world.head()?.epoch == before?.epoch)
        try world.release(.link)
        try world.pass()
        // The log has another epoch, and the client has forgotten what it held of the lost one.
        #expect(world.head()?.epoch != before?.epoch)
        #expect(!world.held(by: 0).isSubscribed)
        try world.subscribe(0)
        #expect(world.held(by: 0).runs == [[1, 5]])
        try world.settle()
    }

    /// What came beyond a hole waits, since a removal may be in the hole; a failover loses it.
    @Test func theFloorOfALostBranchHidesNothing() throws {
        let world = try ReplicaStory.begin(messages: 5)
        world.retain(5)
        try world.subscribe(0)
        world.hold(.feed, .origin)
        try world.say(2)
        world.loseFeed()
        try world.say(10)
        try world.release(.feed)
        world.hold(.link)
        world.failOver(losing: 12)
        try world.say(3)
        try world.release(.link, .origin)
        try world.pass()
        #expect(world.head()?.floor == 6)
        #expect(Coverage(6, 8).subtracting(world.held(by: 0).runs).isEmpty)
        try world.settle()
    }

    /// What the feed brought meanwhile still waits in the process when the first request is read.
    @Test func aGatewayThatStoodStillAnswersNothingAsThePresent() throws {
        let world = try ReplicaStory.begin(messages: 5)
        try world.subscribe(0)
        world.hold(.feed)
        world.sayUnheard("meanwhile")
        world.standStill(3_000)
        try world.fetch(0, PageRequest())
        #expect(world.held(by: 0).runs == [[1, 6]])
        try world.release(.feed)
        try world.settle()
    }

    /// No link breaks, and nothing is said next.
    @Test func aLogThatIsWoundBackUnderItsFeedIsFoundByLooking() throws {
        let world = try ReplicaStory.begin(messages: 5) { $0.verifyInterval = 5000 }
        try world.subscribe(0)
        let before = world.head()
        world.windBack(by: 2)
        try world.pass()
        #expect(world.head()?.epoch == before?.epoch)
        #expect(world.held(by: 0).isSubscribed)
        try world.pass(60)
        #expect(world.head()?.epoch != before?.epoch)
        #expect(!world.held(by: 0).isSubscribed)
        try world.subscribe(0)
        #expect(world.held(by: 0).runs == [[1, 3]])
        try world.settle()
    }

    /// No link breaks, and what is said next has numbers that are known, or passes the old end.
    @Test(arguments: [1, 2, 3, 8]) func aLogThatGrowsOnAnotherBranchIsFoundByItsFirstChange(
        said: Int
    ) throws {
        let world = try ReplicaStory.begin(messages: 5) { $0.verifyInterval = 60_000 }
        try world.subscribe(0)
        let before = world.head()
        world.windBack(by: 2)
        try world.say(said)
        #expect(world.head()?.epoch != before?.epoch)
        #expect(!world.held(by: 0).isSubscribed)
        try world.subscribe(0)
        #expect(world.held(by: 0).runs == [[1, 3 + said]])
        try world.settle()
    }

    /// The other branch parts at the last change but one: its first change continues what is known,
    /// under a number that has another mark.
    @Test func aKnownNumberWithAnotherMarkIsFoundAtOnce() throws {
        let world = try ReplicaStory.begin(messages: 3) { $0.verifyInterval = 60_000 }
        try world.subscribe(0)
        try world.say(2)
        let before = world.head()
        world.windBack(by: 1)
        try world.say()
        #expect(world.head()?.epoch != before?.epoch)
        #expect(!world.held(by: 0).isSubscribed)
        try world.settle()
    }

    /// The feed loses the changes that would contradict what is known: the next one names a mark
    /// before it that the stream never saw.
    @Test func aChangeThatContinuesAnotherBranchJoinsNothing() throws {
        let world = try ReplicaStory.begin(messages: 5) { $0.verifyInterval = 60_000 }
        try world.subscribe(0)
        let before = world.head()
        world.windBack(by: 2)
        world.hold(.feed)
        try world.say(2)
        world.loseFeed()
        try world.release(.feed)
        try world.say()
        #expect(world.head()?.epoch != before?.epoch)
        try world.subscribe(0)
        #expect(world.held(by: 0).runs == [[1, 6]])
        try world.settle()
    }

    /// A backfill is answered with a value from beyond its question, which the log then loses.
    @Test func aBackfillGivesNothingOfABranchThatIsLost() throws {
        let world = try ReplicaStory.begin(messages: 5, gateways: 2) { $0.verifyInterval = 60_000 }
        try world.subscribe(0)
        try world.leave(0)
        try world.say()
        try world.join(1, gateway: 1)
        try world.subscribe(1, limit: 1)
        try world.join(0, gateway: 1)
        world.hold(.feed, .answers)
        try world.subscribe(0, resuming: true)
        world.hold(.questions)
        // The log has what the client saw.
        try world.answerOnce()
        try world.change(2)
        try world.release(.questions)
        world.windBack(by: 1)
        world.loseFeed(1)
        try world.release(.answers, .feed)
        try world.say()
        try world.fetch(0, PageRequest())
        try world.settle()
    }

    @Test(arguments: [1, 100]) func whoIsBehindTheMarksBeginsAnew(page: Int) throws {
        let world = try ReplicaStory.begin(messages: 5, gateways: 2) { $0.page = page }
        try world.subscribe(0)
        try world.join(1, gateway: 1)
        try world.subscribe(1)
        let before = world.head()
        world.hold(.link)
        try world.cut()
        try world.change(3)
        try world.say(20)
        world.forgetMarks(butFor: 2)
        try world.release(.link)
        try world.pass(60)
        // The log is sound and stays; at another gateway nobody has to forget anything. Here nobody
        // can tell whether what was held is of this log.
        #expect(world.head()?.epoch == before?.epoch)
        #expect(world.held(by: 1) == .init(asOf: 27, runs: [[1, 25]]))
        #expect(!world.held(by: 0).isSubscribed)
        try world.subscribe(0)
        #expect(world.held(by: 0) == .init(asOf: 27, runs: [[1, 25]]))
        try world.settle()
    }

    @Test func whatComesAboveAHoleWaitsSinceTheLogMayForkBelow() throws {
        let world = try ReplicaStory.begin(messages: 5)
        try world.subscribe(0)
        world.hold(.feed)
        try world.say()
        world.loseFeed()
        world.hold(.questions)
        world.perform(.update(conversation: "c1", .init(title: "new")), by: .server)
        world.sayUnheard("above")
        try world.release(.feed)
        #expect(world.held(by: 0).runs == [[1, 5]])
        // The position is in both logs, message 7 is not, and the other one grows past it.
        world.failOver(losing: 3)
        try world.say(4)
        try world.release(.questions)
        try world.pass()
        #expect(world.held(by: 0).isSubscribed)
        #expect(world.held(by: 0).runs == [[1, 9]])
        try world.settle()
    }

    @Test func aClientBehindTheStreamThatGetsASharedFrame() throws {
        let world = try ReplicaStory.begin(messages: 5, gateways: 2)
        try world.subscribe(0)
        try world.join(1, gateway: 1)
        try world.subscribe(1)
        try world.leave(1)
        try world.say(150)
        try world.join(1)
        // Back with what it holds, and room for little of what it missed.
        try world.subscribe(1, resuming: true, limit: 3)
        try world.say()
        #expect(world.held(by: 0).runs == [[1, 156]])
        #expect(world.held(by: 1).runs == [[1, 5], [153, 156]])
        #expect(world.held(by: 1).asOf == 157)
        try world.settle()
    }

    @Test func aFloorThatRisesUnderASubscriber() throws {
        let world = try ReplicaStory.begin(messages: 10)
        try world.subscribe(0)
        world.retain(4)
        try world.say()
        #expect(world.held(by: 0).runs == [[8, 11]])
        #expect(world.openGaps().isEmpty)
        try world.join(1)
        try world.subscribe(1)
        #expect(world.held(by: 1).runs == [[8, 11]])
        try world.settle()
    }

    @Test func aPageThatKeepsABusyConversationFromEverBeingFresh() throws {
        let world = try ReplicaStory.begin(messages: 30) { $0.wait = 100_000 }
        try world.subscribe(0, limit: 2)
        world.hold(.answers)
        try world.fetch(0, PageRequest(before: .seq(20), limit: 5))
        for _ in 1...20 { try world.say() }
        // One question, whatever came meanwhile, and its answer serves.
        let asked = world.questions().reads
        try world.release(.answers)
        #expect(world.isAnswered(0))
        #expect(world.questions().reads == 0)
        #expect(asked <= 3)
        #expect(world.held(by: 0).runs.contains(15, 19))
        #expect(!world.held(by: 0).isOpen)
        try world.settle()
    }

    @Test func aPositionThatRisesInTheMiddleOfAChain() throws {
        let world = try ReplicaStory.begin(messages: 5) { $0.page = 2 }
        try world.subscribe(0)
        world.hold(.link)
        try world.cut()
        try world.change(1)
        try world.say(3)
        // Message 1 changes twice: the chain brings it at the end.
        try world.change(1)
        world.hold(.answers)
        try world.release(.link)
        // The head, and the first of two parts of the chain.
        for _ in 1...2 {
            try world.answerOnce()
            #expect(world.held(by: 0).asOf == 6)
        }
        try world.release(.answers)
        #expect(world.held(by: 0) == .init(asOf: 11, runs: [[1, 8]]))
        try world.settle()
    }

    @Test func anOutageCostsWhatWasMissedHoweverManyWatch() throws {
        let world = try ReplicaStory.begin(messages: 50) { $0.page = 10 }
        try world.subscribe(0)
        try world.join(1)
        try world.subscribe(1)
        world.hold(.link)
        try world.cut()
        try world.say(35)
        _ = world.questions()
        try world.release(.link)
        try world.pass(10)
        #expect(world.questions().reads <= 2 + 4)
        #expect(world.held(by: 0).runs == [[1, 85]])
        #expect(world.held(by: 1).runs == [[1, 85]])
        try world.settle()
    }

    @Test func whatComesIntoAListBeforeTheFeedTellsOfItIsInIt() throws {
        let world = try ReplicaStory.begin(messages: 1)
        world.hold(.acknowledgements)
        // The answer is there, and the feed does not tell of the list yet.
        try world.watch(0)
        try world.write(.put(id: "c2", .init(participants: ["ann"])))
        try world.release(.acknowledgements)
        try world.settle()
    }
}
