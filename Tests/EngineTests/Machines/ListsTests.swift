import Chat
import JSON
import Ports
import Testing
import Wire

@testable import Engine

/// A list as it is known while the origin is away, and how its conversations are read: alone.
@Suite struct ListsTests {
    private static func entry(
        _ id: String, activity: Int64, rev: Int = 5, lastRead: Int = 0, unread: Int = 1
    ) -> KnownList.Entry {
        var record = MachineSamples.record()
        record.id = id
        return KnownList.Entry(
            ConversationView(
                record: record, lastMessage: nil, head: MachineSamples.head(rev),
                reader: ReaderState(lastReadSeq: lastRead, unreadCount: unread)),
            activity: activity)
    }

    private static func list(
        _ entries: [KnownList.Entry], at place: ListPlace? = ListPlace(seq: 3, mark: "aa"),
        departed: [String] = []
    ) -> KnownList {
        KnownList(entries, place: place, departed: departed)
    }

    private static let three = [
        entry("a", activity: 1), entry("c", activity: 2), entry("b", activity: 2),
    ]

    @Test func theLatestComesFirstAndOfTwoAsLateTheLargerID() {
        let page = Self.list(Self.three).page(10, behind: nil, bytes: .max)
        #expect(page.conversations.map(\.record.id) == ["c", "b", "a"])
        #expect(page.next == nil && page.total == 3)
        #expect(page.unread == UnreadTotal(messages: 3, conversations: 3))
    }

    @Test func aPageGoesOnBehindItsCursor() {
        let list = Self.list(Self.three)
        let first = list.page(2, behind: nil, bytes: .max)
        let cursor = first.next.flatMap { ActivityCursor($0) }
        #expect(list.page(2, behind: cursor, bytes: .max).conversations.map(\.record.id) == ["a"])
        // One of them has gone up since.
        let moved = Self.list([Self.entry("b", activity: 9)] + Self.three.prefix(2))
        #expect(moved.page(2, behind: cursor, bytes: .max).conversations.map(\.record.id) == ["a"])
    }

    @Test func aPageHoldsWhatFitsAndOneInAnyCase() {
        let list = Self.list(Self.three)
        let one = list.page(3, behind: nil, bytes: 1)
        #expect(one.conversations.map(\.record.id) == ["c"] && one.next != nil)
        let size = Self.three[0].view.size
        #expect(list.page(3, behind: nil, bytes: 2 * size).conversations.count == 2)
    }

    @Test func aTokenOfThePlaceIsComparedAndNoOther() {
        let token = Self.list(Self.three).changes(since: nil, limit: 9, bytes: .max)
        #expect(!token.complete && token.conversations.count == 3)
        let entries = [Self.entry("a", activity: 1, lastRead: 1), Self.three[2]]
        let now = Self.list(entries, departed: ["c", "b"])
        let news = now.changes(since: token.token, limit: 9, bytes: .max)
        #expect(news.complete && news.removed == ["c"])
        #expect(news.conversations.contains { $0.record.id == "a" })
        let later = Self.list(entries, at: ListPlace(seq: 4, mark: "aa"), departed: ["c"])
        #expect(!later.changes(since: token.token, limit: 9, bytes: .max).complete)
        let other = Self.list(entries, at: ListPlace(seq: 3, mark: "bb"), departed: ["c"])
        #expect(!other.changes(since: token.token, limit: 9, bytes: .max).complete)
        // Somebody left of whom nobody here knows.
        let less = Self.list(entries)
        #expect(!less.changes(since: token.token, limit: 9, bytes: .max).complete)
    }

    @Test func withoutAPlaceTheTokenProvesNothing() throws {
        let list = Self.list(Self.three, at: nil)
        let token = list.changes(since: nil, limit: 9, bytes: .max).token
        #expect(try #require(ListPlaceToken(token)).place == nil)
        #expect(!list.changes(since: token, limit: 9, bytes: .max).complete)
    }

    // MARK: - A follower

    @Test func onlyAReadingInAnUnbrokenFeedCounts() {
        var follower = ListFollower(user: "ann")
        follower.beginReading(1)
        follower.adopt(nil, generation: 1)
        #expect(follower.known == nil)
        follower.follow(readings: 1)
        follower.adopt(nil, generation: 1)
        #expect(follower.known == nil)
        follower.beginReading(2)
        follower.adopt(nil, generation: 0)
        #expect(follower.known == nil)
        follower.adopt(nil, generation: 1)
        #expect(follower.known != nil)
        // What breaks is still known as it was; what is joined again is not.
        follower.lapsed(generation: 1)
        #expect(follower.known != nil && !follower.isFollowed)
        follower.follow(readings: 2)
        #expect(follower.known == nil)
    }

    @Test func whoIsGoneStaysGoneUntilTheListSaysOtherwise() {
        var follower = ListFollower(user: "ann")
        _ = follower.insert("c1".id)
        follower.noteTold("c1".id)
        follower.noteTold("c2".id)
        #expect(follower.gone == ["c1".id] && follower.departed == ["c1"])
        follower.beginReading(1)
        follower.adopt(nil, generation: 1)
        #expect(follower.gone.isEmpty)
        follower.beginReading(2)
        follower.noteTold("c1".id)
        follower.adopt(nil, generation: 1)
        #expect(follower.gone == ["c1".id])
        follower.isIn("c1".id)
        #expect(follower.gone.isEmpty)
        let wasIn = follower.remove("c1".id, readings: 2)
        #expect(wasIn)
        #expect(follower.departed == ["c1"])
        follower.beginReading(3)
        follower.adopt(nil, generation: 1)
        #expect(follower.departed.isEmpty)
    }

    // MARK: - How it is read

    private static func change(_ rev: Int) -> LogChange {
        LogChange(
            rev: rev, seq: rev, author: "ben", isDeleted: false, createdAt: Int64(rev) * 10)
    }

    private static func readership() -> Readership {
        var readership = Readership()
        readership.expect("ann".id, at: nil)
        let head = MachineSamples.head(5)
        let state = ReaderState(lastReadSeq: 3, unreadCount: 2)
        readership.adopt(state, active: 7, of: "ann".id, at: head, position: head)
        return readership
    }

    @Test func activityFollowsTheChangesAsLongAsNoneIsMissing() {
        var readership = Self.readership()
        do {
            let seen = readership.activity(at: MachineSamples.head(5))
            #expect(seen == 7)
        }
        readership.note(Self.change(6))
        do {
            let seen = readership.activity(at: MachineSamples.head(6))
            #expect(seen == 60)
        }
        do {
            let seen = readership.activity(at: MachineSamples.head(5))
            #expect(seen == nil)
        }
        readership.note(Self.change(8))
        do {
            let seen = readership.activity(at: MachineSamples.head(8))
            #expect(seen == nil)
        }
    }

    @Test func nothingOlderIsKnownThanWasShown() {
        let (ann, head) = ("ann".id, MachineSamples.head(5))
        var readership = Self.readership()
        do {
            let seen = readership.state(of: ann, at: head)?.unreadCount
            #expect(seen == 2)
        }
        readership.saw(6, nil, by: ann)
        do {
            let seen = readership.state(of: ann, at: head)
            #expect(seen == nil)
        }
        readership.note(Self.change(6))
        do {
            let seen = readership.state(of: ann, at: MachineSamples.head(6))?.unreadCount
            #expect(seen == 3)
        }
        readership.saw(6, ReaderState(lastReadSeq: 6, unreadCount: 0), by: ann)
        do {
            let seen = readership.state(of: ann, at: MachineSamples.head(6))
            #expect(seen == nil)
        }
        let isKnown = readership.mark(ann, upTo: 6)
        #expect(isKnown)
        do {
            let seen = readership.state(of: ann, at: MachineSamples.head(6))?.unreadCount
            #expect(seen == 0)
        }
    }

    /// After a failover the origin answers from a branch in which the same rev is another change.
    @Test func anAnswerFromAnotherBranchDoesNotCount() {
        let (ann, state) = ("ann".id, ReaderState(lastReadSeq: 3, unreadCount: 9))
        let head = MachineSamples.head(5)
        var readership = Self.readership()
        readership.adopt(
            state, active: 9000, of: ann, at: MachineSamples.head(5, mark: "other"), position: head)
        var count = readership.state(of: ann, at: head)?.unreadCount
        #expect(count == 2)
        var activity = readership.activity(at: head)
        #expect(activity == 7)
        // Ahead of the stream, nobody knows yet whose it is.
        readership.adopt(
            state, active: 9000, of: ann, at: MachineSamples.head(6, mark: "other"), position: head)
        readership.note(Self.change(6))
        count = readership.state(of: ann, at: MachineSamples.head(6))?.unreadCount
        #expect(count == nil)
        activity = readership.activity(at: MachineSamples.head(6))
        #expect(activity == nil)
        // Nor is it followed where the stream passed by in one step.
        readership.adopt(
            state, active: 9000, of: ann, at: MachineSamples.head(7, mark: "other"),
            position: MachineSamples.head(6))
        readership.note(Self.change(8))
        count = readership.state(of: ann, at: MachineSamples.head(8))?.unreadCount
        #expect(count == nil)
        activity = readership.activity(at: MachineSamples.head(8))
        #expect(activity == nil)
        // It leaves nothing behind in what is known from the next answer.
        readership.adopt(
            state, active: 80, of: ann, at: MachineSamples.head(8),
            position: MachineSamples.head(8))
        activity = readership.activity(at: MachineSamples.head(8))
        #expect(activity == 80)
    }

    /// What is ahead of the stream counts when the stream comes to the same mark, by a change or
    /// by catching up, and is followed from there.
    @Test(arguments: [true, false]) func anAnswerAheadOfTheStreamCountsFromItsMark(isNoted: Bool) {
        let (ann, state) = ("ann".id, ReaderState(lastReadSeq: 3, unreadCount: 3))
        var readership = Self.readership()
        readership.adopt(
            state, active: 60, of: ann, at: MachineSamples.head(6),
            position: MachineSamples.head(5))
        var count = readership.state(of: ann, at: MachineSamples.head(5))?.unreadCount
        #expect(count == nil)
        if isNoted {
            var change = Self.change(6)
            change.mark = "m6"
            readership.note(change)
            readership.note(Self.change(7))
        } else {
            count = readership.state(of: ann, at: MachineSamples.head(6))?.unreadCount
            #expect(count == 3)
            var activity = readership.activity(at: MachineSamples.head(6))
            #expect(activity == 60)
            readership.note(Self.change(7))
            activity = readership.activity(at: MachineSamples.head(7))
            #expect(activity == 70)
        }
        count = readership.state(of: ann, at: MachineSamples.head(7))?.unreadCount
        #expect(count == 4)
    }

    /// An answer may be older than the stream: its mark is that of a change since, or of the place
    /// where the stream was when the origin was asked.
    @Test func anAnswerBehindTheStreamCountsIfItsMarkIsKnown() {
        let (ann, state) = ("ann".id, ReaderState(lastReadSeq: 3, unreadCount: 2))
        for mark in ["m5", "other"] {
            var readership = Readership()
            readership.expect(ann, at: MachineSamples.head(5))
            readership.note(Self.change(6))
            readership.adopt(
                state, active: 50, of: ann, at: MachineSamples.head(5, mark: mark),
                position: MachineSamples.head(6))
            let count = readership.state(of: ann, at: MachineSamples.head(6))?.unreadCount
            #expect(count == (mark == "m5" ? 3 : nil))
            let activity = readership.activity(at: MachineSamples.head(6))
            #expect(activity == (mark == "m5" ? 60 : nil))
        }
    }
}
