import Chat
import Testing

@testable import Gateway

/// When a feed that breaks, and comes and goes, counts as lost.
@Suite struct FeedReadinessTests {
    /// What is said of the feed every 100 ms of the moments: `true` is live.
    private func told(_ moments: [(isLive: Bool, milliseconds: Int)], grace: Int64) -> [Bool] {
        var feed = FeedReadiness()
        var told: [Bool] = []
        var now = Timestamp(milliseconds: 1_700_000_000_000)
        for moment in moments {
            let since = now
            for _ in 0..<moment.milliseconds / 100 {
                feed.look(offlineSince: moment.isLive ? nil : since, grace: grace, at: now)
                told.append(feed.isLost)
                now.milliseconds += 100
            }
        }
        return told
    }

    private func changes(_ told: [Bool]) -> Int { zip(told, told.dropFirst()).count { $0 != $1 } }

    @Test func aStartIsNoOutage() {
        #expect(told([(false, 1000), (true, 1000)], grace: 0).suffix(10).allSatisfy { !$0 })
        #expect(told([(false, 1000), (true, 1000)], grace: 5000).allSatisfy { !$0 })
    }

    @Test func itIsLostAtOnceAndBackWhenItWasLiveForTwoSeconds() {
        let told = told([(true, 1000), (false, 1000), (true, 5000)], grace: 0)
        #expect(told.firstIndex(of: true) == 10)
        #expect(told.lastIndex(of: true) == 39 && changes(told) == 2)
    }

    @Test func aGraceIsAsLongOnTheWayBack() {
        let told = told([(true, 1000), (false, 10_000), (true, 20_000)], grace: 5000)
        #expect(told.firstIndex(of: true) == 60)
        #expect(told.lastIndex(of: true) == 159 && changes(told) == 2)
    }

    @Test func whatComesAndGoesIsLostUntilItStays() {
        let flaps = (0..<30).flatMap { _ in [(false, 300), (true, 1000)] }
        let told = told([(true, 1000)] + flaps + [(true, 5000)], grace: 0)
        #expect(changes(told) == 2 && told.last == false)
    }

    @Test func whatIsShorterThanTheGraceIsNotNoticed() {
        let flaps = (0..<30).flatMap { _ in [(false, 900), (true, 300)] }
        #expect(told([(true, 1000)] + flaps, grace: 1000).allSatisfy { !$0 })
    }
}
