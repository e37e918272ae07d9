import Chat
import Testing
import Wire

@testable import Engine

/// How clients see the upstream, decided by `UpstreamStatus` alone.
@Suite struct UpstreamStatusTests {
    private static let start = MachineSamples.start
    private var status = UpstreamStatus(wait: 2000, at: start)
    private let one = "c1".id
    private let two = "c2".id

    /// What clients are told at this moment; nil if that is nothing new.
    private mutating func told(after milliseconds: Int64) -> UpstreamState? {
        status.change(at: Self.start.adding(milliseconds)) ? status.state : nil
    }

    @Test mutating func aLinkThatNeverCameUpIsOfflineOnceItHadTime() {
        #expect(status.state == .syncing && status.unlinkedSince == Self.start)
        #expect(told(after: 1999) == nil && !status.hasGivenTime(at: Self.start.adding(1999)))
        #expect(told(after: 2000) == .offline)
        #expect(status.since == Self.start.adding(2000))
        #expect(told(after: 3000) == nil && status.since == Self.start.adding(2000))
    }

    @Test mutating func aLinkThatWasUpIsOfflineAtOnce() {
        status.linked(true, at: Self.start)
        #expect(told(after: 0) == .online && status.unlinkedSince == nil)
        status.linked(false, at: Self.start.adding(5))
        status.linked(false, at: Self.start.adding(9))
        #expect(told(after: 9) == .offline && status.unlinkedSince == Self.start.adding(5))
        #expect(!status.isLinked)
    }

    @Test mutating func itSynchronizesUntilTheLastConversationIsThere() {
        status.linked(true, at: Self.start)
        for conversation in [one, two, two] { status.fellBehind(conversation) }
        #expect(told(after: 0) == nil && status.isBehind(two))
        status.settled(one)
        var isToBeTold = status.takePendingNotice()
        #expect(!isToBeTold)
        status.settled(two)
        isToBeTold = status.takePendingNotice()
        #expect(isToBeTold && !status.isBehind(two))
        isToBeTold = status.takePendingNotice()
        #expect(!isToBeTold)
        #expect(told(after: 7) == .online)
        // What was not behind settles nothing.
        status.settled(one)
        isToBeTold = status.takePendingNotice()
        #expect(!isToBeTold)
    }

    @Test mutating func aStoreThatIsTheOriginIsAlwaysOnline() {
        status = UpstreamStatus(wait: nil, at: Self.start)
        status.fellBehind(one)
        #expect(told(after: 10_000) == nil && status.state == .online)
        #expect(status.unlinkedSince == nil)
    }
}
