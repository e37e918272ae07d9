import Testing
import Wire

@testable import Engine

/// Whether it is the log that a replica knows, decided by `LogIdentity` alone.
@Suite struct LogIdentityTests {
    private var identity = LogIdentity()
    private let proof = HeadProof(MachineSamples.head(7))

    @Test mutating func whatWasSuspectedHasEndedOnceTheLogIsConfirmed() {
        let isToBeAsked = identity.suspect(["e1", "e2"], own: "e1")
        #expect(isToBeAsked && !identity.isConfirmed)
        identity.confirm()
        #expect(identity.isConfirmed)
        // What comes late of it is passed over, what is of another is not.
        let late = identity.suspect(["e2"], own: "e1")
        let other = identity.suspect(["e2", "e3"], own: "e1")
        let own = identity.suspect(["e1"], own: "e1")
        #expect(!late && other && own)
    }

    @Test(arguments: [true, false])
    mutating func anotherFeedTellsOfThemAnew(_ isSame: Bool) {
        _ = identity.suspect(["e2"], own: "e1")
        identity.confirm()
        identity.begin(inSameFeed: isSame)
        let isToBeAsked = identity.suspect(["e2"], own: "e1")
        #expect(isToBeAsked == !isSame && !identity.isConfirmed)
    }

    @Test mutating func theOriginIsAskedOnceForAProof() {
        let (first, second) = (identity.ask(proof), identity.ask(proof))
        #expect(first && !second && identity.holds(proof) == nil)
        identity.giveUp(proof)
        let third = identity.ask(proof)
        #expect(third)
        identity.note(proof, holds: false)
        #expect(identity.holds(proof) == false)
        let fourth = identity.ask(proof)
        #expect(fourth)
    }

    @Test mutating func whatLiesAboveTheStreamCountsOnceItIsReached() {
        let (same, other) = (HeadProof(MachineSamples.head(8, mark: "x")), proof)
        let passed = HeadProof(MachineSamples.head(6))
        for proof in [same, other, passed] {
            _ = identity.ask(proof)
            identity.expect(proof)
            let isAsked = identity.ask(proof)
            #expect(!isAsked && identity.expects(proof))
        }
        identity.reached(MachineSamples.head(5))
        #expect(identity.expects(passed) && identity.holds(passed) == nil)
        identity.reached(MachineSamples.head(7))
        #expect(identity.holds(other) == true && identity.holds(passed) == nil)
        identity.reached(MachineSamples.head(8))
        #expect(identity.holds(same) == nil && !identity.expects(same))
        let isAskedAgain = identity.ask(passed)
        #expect(isAskedAgain)
    }

    @Test(arguments: [true, false])
    mutating func proofsAreOfOneFeedAndOneLog(_ isSame: Bool) {
        identity.note(proof, holds: true)
        #expect(identity.holds(HeadProof(MachineSamples.head(7, mark: "x"))) == nil)
        _ = identity.ask(HeadProof(MachineSamples.head(8)))
        identity.begin(inSameFeed: isSame)
        #expect(identity.holds(proof) == nil)
        let isAskedAgain = identity.ask(HeadProof(MachineSamples.head(8)))
        #expect(isAskedAgain)
    }

    @Test mutating func theyAreBounded() {
        for rev in 1...1000 { identity.note(HeadProof(MachineSamples.head(rev)), holds: true) }
        #expect(identity.holds(HeadProof(MachineSamples.head(1))) == true)
        identity.note(proof, holds: true)
        #expect(identity.holds(HeadProof(MachineSamples.head(1))) == nil)
        #expect(identity.holds(proof) == true)
    }
}
