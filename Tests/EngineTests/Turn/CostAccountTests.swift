import Ports
import Simulation
import Testing

/// What a piece of work costs by the kernel's account.
@Suite struct CostAccountTests {
    private static func at(_ microseconds: Int) -> Duration { .microseconds(microseconds) }

    private static func usage(_ ran: Int, waits: Int = 7) -> () -> ThreadUsage {
        { ThreadUsage(ran: at(ran), waits: waits) }
    }

    /// An account that is kept, as after a first piece that seemed long.
    private static func account() -> CostAccount {
        var account = CostAccount()
        #expect(account.cost(from: at(0), to: at(1_000), usage(10)) == at(1_000))
        account.begin(at: at(2_000), usage(1_000))
        return account
    }

    @Test func aPieceThatRanAllTheTimeCostsItsTime() {
        var account = Self.account()
        #expect(
            account.cost(from: Self.at(2_000), to: Self.at(5_000), Self.usage(4_000))
                == Self.at(3_000))
    }

    @Test func aPieceThatLostItsCoreCostsWhatItRan() {
        var account = Self.account()
        // Pieces of 150 µs came before it.
        #expect(
            account.cost(from: Self.at(2_150), to: Self.at(6_000), Self.usage(1_250))
                == Self.at(100))
        // The next one is counted from there.
        #expect(
            account.cost(from: Self.at(6_000), to: Self.at(9_000), Self.usage(1_950))
                == Self.at(700))
    }

    /// Fifty short pieces had the core for a tenth of their time each: the long one behind them
    /// does not get off for the time that they lost.
    @Test func whatShortPiecesLostIsNotTakenOffALongOne() {
        var account = Self.account()
        var (moment, ran) = (2_000, 1_000)
        for _ in 0..<50 {
            (moment, ran) = (moment + 90, ran + 9)
            account.passed(at: Self.at(moment), Self.usage(ran))
        }
        let cost = account.cost(
            from: Self.at(moment), to: Self.at(moment + 3_000), Self.usage(ran + 3_000))
        #expect(cost > Self.at(3_000) - CostAccount.step && cost <= Self.at(3_000), "\(cost)")
    }

    @Test func noMoreThanAStepIsTakenOff() {
        var account = Self.account()
        #expect(
            account.cost(from: Self.at(9_000), to: Self.at(12_000), Self.usage(4_000))
                == Self.at(3_000) - CostAccount.step)
    }

    /// However pieces of all lengths lose their core: each long one costs what it ran, within a
    /// step, and the kernel is asked for one in a step.
    @Test(arguments: 0..<50) func aLongPieceCostsWhatItRanWithinAStep(seed: Int) {
        var random = SplitMix64(UInt64(seed))
        var account = Self.account()
        var (moment, ran, asked, shorts) = (2_000, 1_000, 0, 0)
        for _ in 0..<200 {
            let isLong = Int.random(in: 0..<10, using: &random) == 0
            let time = Int.random(in: isLong ? 600...5_000 : 10...400, using: &random)
            let own = Int.random(in: 0...time, using: &random) / (seed % 3 == 0 ? 20 : 1)
            let start = moment
            (moment, ran) = (moment + time, ran + own)
            let usage = {
                asked += 1
                return ThreadUsage(ran: Self.at(ran), waits: 7)
            }
            guard isLong else {
                account.passed(at: Self.at(moment), usage)
                shorts += time
                continue
            }
            let cost = account.cost(from: Self.at(start), to: Self.at(moment), usage)
            asked -= 1
            #expect(abs(cost / .microseconds(1) - Double(own)) <= 200, "\(cost) for \(own)")
        }
        #expect(asked <= shorts / 200)
    }

    @Test func aPieceThatWaitedCostsItsTime() {
        var account = Self.account()
        #expect(
            account.cost(from: Self.at(2_000), to: Self.at(9_000), Self.usage(1_010, waits: 8))
                == Self.at(7_000))
    }

    @Test func noPieceCostsMoreThanItsTimeOrLessThanNothing() {
        var account = Self.account()
        #expect(
            account.cost(from: Self.at(2_100), to: Self.at(3_000), Self.usage(1_050)) == .zero)
        #expect(
            account.cost(from: Self.at(3_000), to: Self.at(4_000), Self.usage(9_000))
                == Self.at(1_000))
    }

    @Test func withoutALongPieceTheAccountIsNotKept() {
        func unasked() -> ThreadUsage {
            Issue.record("the kernel is asked without need")
            return ThreadUsage(ran: .zero)
        }
        var account = CostAccount()
        account.begin(at: Self.at(0), unasked)
        account.passed(at: Self.at(900), unasked)
        _ = account.cost(from: Self.at(0), to: Self.at(1_000), Self.usage(10))
        account.begin(at: Self.at(1_000) + CostAccount.keeping, unasked)
        // So the next one costs its time again.
        let late = Self.at(2_000) + CostAccount.keeping
        #expect(
            account.cost(from: late, to: late + Self.at(900), Self.usage(20)) == Self.at(900))
    }
}
