import Engine
import Testing

/// When the cache is read beside what everybody is told.
@Suite struct ReadBudgetTests {
    private static let start = Duration.seconds(9)

    private static func at(_ microseconds: Int) -> Duration {
        start + .microseconds(microseconds)
    }

    @Test func shortAnswersAreGivenUntilTheTurnsTimeIsOver() {
        var pace = ReadBudget()
        #expect(pace.mayBegin(hasAskedUpstream: false, at: Self.start) == true)
        for moment in [150, 300, 450] {
            #expect(
                pace.answered(
                    from: Self.at(moment - 150), to: Self.at(moment), turnBegan: Self.start)
                    == (isCostly: false, goesOn: true))
        }
        #expect(
            pace.answered(from: Self.at(450), to: Self.at(600), turnBegan: Self.start)
                == (isCostly: false, goesOn: false))
        #expect(pace.restsUntil == nil)
        #expect(pace.mayBegin(hasAskedUpstream: false, at: Self.at(600)) == true)
    }

    @Test func aLongAnswerIsFollowedByARestTwiceAsLongOfItsKind() {
        var pace = ReadBudget()
        #expect(pace.mayBegin(hasAskedUpstream: false, at: Self.start) == true)
        #expect(
            pace.answered(from: Self.start, to: Self.at(2000), turnBegan: Self.start)
                == (isCostly: true, goesOn: false))
        #expect(pace.restsUntil == Self.at(6000))
        #expect(pace.mayBegin(hasAskedUpstream: false, at: Self.at(5999)) && pace.isResting)
        // A shorter one of somebody else's does not shorten the rest.
        _ = pace.answered(from: Self.at(5000), to: Self.at(5501), turnBegan: Self.at(5000))
        #expect(pace.restsUntil == Self.at(6503))
        _ = pace.answered(from: Self.at(5502), to: Self.at(5510), turnBegan: Self.at(5502))
        #expect(pace.restsUntil == Self.at(6503))
        #expect(pace.mayBegin(hasAskedUpstream: false, at: Self.at(6503)) && !pace.isResting)
    }

    @Test func theyStandBackForAnOperationButNotTwiceInARow() {
        var pace = ReadBudget()
        #expect(pace.mayBegin(hasAskedUpstream: true, at: Self.start) == false)
        #expect(pace.mayBegin(hasAskedUpstream: true, at: Self.at(999)) == false)
        #expect(pace.mayBegin(hasAskedUpstream: true, at: Self.at(1000)) == true)
        #expect(pace.mayBegin(hasAskedUpstream: true, at: Self.at(1100)) == false)
        #expect(!pace.isResting)
    }
}
