import Testing
import Wire

@testable import Engine

/// The lines of calls that wait to be asked for: alone.
@Suite struct EntrancesTests {
    private static func call(_ id: Int) -> Call {
        Call(
            session: SessionID(1), id: id,
            request: .unsubscribeMessages(conversation: "c1"), takesCached: false)
    }

    @Test func oneIsAskedForAtATimeAndTheOthersFollowInTheirOrder() {
        var entrances = Entrances()
        func enter(_ id: Int, _ conversation: String = "c1") -> Bool {
            entrances.enter(Self.call(id), conversation.id)
        }
        func next() -> Int? { entrances.takeNext("c1".id)?.id }
        #expect(enter(1))
        #expect(!enter(2))
        #expect(!enter(3))
        #expect(enter(4, "c2"))
        #expect(next() == nil)
        entrances.answered("c1".id)
        #expect(next() == 2)
        // It is asked for, as the first one was.
        #expect(enter(2))
        #expect(next() == nil)
        entrances.answered("c1".id)
        // It need not be.
        #expect(next() == 3)
        #expect(next() == nil)
        #expect(enter(5))
        entrances.answered("c1".id)
        #expect(next() == nil)
    }
}
