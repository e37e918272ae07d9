import Testing
import Wire

@testable import Upstream

/// What a connection knows of its subscriptions, from commands and replies alone.
@Suite struct SubscriptionsTests {
    private let a = RedisTopic.conversation("a".id)
    private let b = RedisTopic.conversation("b".id)
    private var all = Subscriptions()

    @Test mutating func onlyTheLastAcknowledgementSaysThatItIsHeld() {
        all.ask(a, true)
        all.ask(a, false)
        all.ask(a, true)
        #expect(all.acknowledged(a, true) == .nothing)
        #expect(all.acknowledged(a, false) == .nothing)
        #expect(all.held == [])
        #expect(all.acknowledged(a, true) == .held)
        #expect(all.held == [a] && all.isWanted(a))
    }

    @Test mutating func whatIsTakenBackUnaskedIsLostOnce() {
        all.ask(a, true)
        #expect(all.acknowledged(a, true) == .held)
        #expect(all.acknowledged(a, false) == .lost)
        #expect(all.acknowledged(a, false) == .nothing)
        #expect(all.refused == [a] && all.held == [])
        all.ask(a, true)
        #expect(all.refused == [])
    }

    /// One command may be for several topics, and is refused as a whole.
    @Test mutating func aRefusalIsOfAllThatTheCommandAskedFor() {
        let c = RedisTopic.conversation("c".id)
        all.begin()
        for topic in [a, b] { all.ask(topic, true) }
        let pinged = all.command
        all.begin()
        all.ask(c, true)
        #expect(all.isAwaited(pinged))
        all.refuse { _ in true }
        #expect(all.refused == [a, b] && !all.isAwaited(pinged))
        #expect(all.acknowledged(c, true) == .held)
    }

    @Test mutating func aRefusalIsThatOfTheNextCommand() {
        for topic in [a, b] {
            all.begin()
            all.ask(topic, true)
        }
        all.refuse { [a] in $0 == a }
        #expect(all.refused == [a])
        #expect(all.acknowledged(b, true) == .held)
        // The answer to something that nobody waits for.
        all.refuse { [a] in $0 == a }
        #expect(all.held == [b])
    }

    @Test mutating func whatIsElsewhereIsNeitherHeldNorAskedForAgain() {
        all.ask(a, true)
        #expect(all.acknowledged(a, true) == .held)
        let wasHeld = [all.leave(a), all.leave(a)]
        #expect(wasHeld == [true, false])
        #expect(!all.isWanted(a) && all.held == [])
        #expect(all.acknowledged(a, false) == .nothing)
        #expect(all.refused == [])
        all.ask(b, true)
        let wasTold = all.leave(b)
        #expect(!wasTold, "it was not acknowledged yet")
        #expect(all.acknowledged(b, true) == .nothing)
    }
}
