import Engine
import Ports
import Testing

/// When the cache is read beside what everybody is told.
@Suite struct ReadBudgetTests {
    private static let start = Duration.seconds(9)

    private static func at(_ microseconds: Int) -> Duration {
        start + .microseconds(microseconds)
    }

    /// The kernel's account of a thread that runs all the time.
    private static func running(until moment: Int) -> () -> ThreadUsage {
        { ThreadUsage(ran: at(moment)) }
    }

    private static func unasked() -> ThreadUsage {
        Issue.record("the kernel is asked without need")
        return ThreadUsage(ran: .zero)
    }

    @Test func shortAnswersAreGivenUntilTheTurnsTimeIsOver() {
        var pace = ReadBudget()
        #expect(pace.mayBegin(hasAskedUpstream: false, at: Self.start) == true)
        pace.begin(at: Self.start, Self.unasked)
        for moment in [150, 300, 450] {
            #expect(
                pace.answered(from: Self.at(moment - 150), to: Self.at(moment), Self.unasked)
                    == (isCostly: false, goesOn: true))
        }
        #expect(
            pace.answered(from: Self.at(450), to: Self.at(600), Self.unasked)
                == (isCostly: false, goesOn: false))
        #expect(pace.restsUntil == nil)
        #expect(pace.mayBegin(hasAskedUpstream: false, at: Self.at(600)) == true)
    }

    @Test func aLongAnswerIsFollowedByARestTwiceAsLongOfItsKind() {
        var pace = ReadBudget()
        #expect(pace.mayBegin(hasAskedUpstream: false, at: Self.start) == true)
        pace.begin(at: Self.start, Self.unasked)
        #expect(
            pace.answered(from: Self.start, to: Self.at(2000), Self.running(until: 2000))
                == (isCostly: true, goesOn: false))
        #expect(pace.restsUntil == Self.at(6000))
        #expect(pace.mayBegin(hasAskedUpstream: false, at: Self.at(5999)) && pace.isResting)
        // A shorter one of somebody else's does not shorten the rest.
        pace.begin(at: Self.at(5000), Self.running(until: 5000))
        _ = pace.answered(from: Self.at(5000), to: Self.at(5501), Self.running(until: 5501))
        #expect(pace.restsUntil == Self.at(6503))
        pace.begin(at: Self.at(5502), Self.running(until: 5502))
        _ = pace.answered(from: Self.at(5502), to: Self.at(5510), Self.unasked)
        #expect(pace.restsUntil == Self.at(6503))
        #expect(pace.mayBegin(hasAskedUpstream: false, at: Self.at(6503)) && !pace.isResting)
    }

    /// Ten short answers have lost their core; the one behind them has not.
    @Test func aLongAnswerIsCostlyBehindShortOnesThatLostTheirCore() {
        var pace = ReadBudget()
        pace.begin(at: Self.start, Self.unasked)
        _ = pace.answered(from: Self.start, to: Self.at(2000), Self.running(until: 2000))
        pace.begin(at: Self.at(2000), Self.running(until: 2000))
        var moment = 2000
        for number in 1...10 {
            _ = pace.answered(
                from: Self.at(moment), to: Self.at(moment + 300),
                Self.running(until: 2000 + number))
            moment += 300
        }
        #expect(
            pace.answered(
                from: Self.at(moment), to: Self.at(moment + 1500),
                Self.running(until: 2010 + 1500)
            ).isCostly)
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
