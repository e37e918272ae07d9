import Ports
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
        // Pieces of 400 µs came before it.
        #expect(
            account.cost(from: Self.at(2_400), to: Self.at(6_000), Self.usage(1_500))
                == Self.at(100))
        // The next one is counted from there.
        #expect(
            account.cost(from: Self.at(6_000), to: Self.at(9_000), Self.usage(2_200))
                == Self.at(700))
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
        _ = account.cost(from: Self.at(0), to: Self.at(1_000), Self.usage(10))
        account.begin(at: Self.at(1_000) + CostAccount.keeping, unasked)
        // So the next one costs its time again.
        let late = Self.at(2_000) + CostAccount.keeping
        #expect(
            account.cost(from: late, to: late + Self.at(900), Self.usage(20)) == Self.at(900))
    }
}
