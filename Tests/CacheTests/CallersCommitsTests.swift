import Testing

@testable import Cache

/// When the thread that submits a batch commits it.
@Suite struct CallersCommitsTests {
    private let start = ContinuousClock.now

    private func commits(isOnOneCore: Bool = true) -> CallersCommits {
        CallersCommits(WriterPace(isOnOneCore: isOnOneCore))
    }

    @Test func onOneCoreAndNowhereElse() {
        #expect(commits().isDue(at: start))
        #expect(!commits(isOnOneCore: false).isDue(at: start))
    }

    @Test func itWaitsForTheDiskAHundredthOfItsTime() {
        var commits = commits()
        commits.waited(.milliseconds(5), at: start)
        #expect(!commits.isDue(at: start + .milliseconds(499)))
        #expect(commits.isDue(at: start + .milliseconds(500)))
    }

    @Test func aShortWaitIsNone() {
        var commits = commits()
        commits.waited(.milliseconds(1), at: start)
        #expect(commits.isDue(at: start))
    }

    @Test func aDiskThatHungIsTriedAgainAfterAMinute() {
        var commits = commits()
        commits.waited(.seconds(30), at: start)
        #expect(!commits.isDue(at: start + .seconds(59)))
        #expect(commits.isDue(at: start + .seconds(60)))
    }

    @Test func whatTakesLongerThanAMillisecondOrSoIsNotSmall() {
        #expect(CallersCommits.isSmall(rows: 50, bytes: 65_536))
        #expect(!CallersCommits.isSmall(rows: 51, bytes: 0))
        #expect(!CallersCommits.isSmall(rows: 1, bytes: 65_537))
    }
}
