import Chat
import Testing
import TestSupport

@testable import GaplessClient
@testable import ClientCore

/// What the objects for views once did wrong, each by the name of what it protects.
@MainActor @Suite struct FacePromiseTests {
    /// A client of a log with so many messages, and nobody who looks.
    private func client(_ count: Int) throws -> ModelClient {
        let client = ModelClient()
        client.gateway.write(count)
        client.perform { $0.open($1) }
        try client.exchange()
        return client
    }

    private func list(_ client: ModelClient, limit: Int = 100) -> ManagedMessageList {
        let list = ManagedMessageList(client, conversation: "c", reader: "alice", delegate: nil)
        list.fetchLimit = limit
        return list
    }

    private func history(_ client: ModelClient, seen: Int) -> History {
        let opening = HistoryScenario(
            lastSeen: seen, lastMessage: client.gateway.log.seq, lastMessageTime: nil)
        return History(client, conversation: "c", opening: opening, reader: "alice")
    }

    private func seqs(_ list: ManagedMessageList) -> [Int] {
        (0..<list.messageCount()).compactMap { list.messageAt($0).seq }
    }

    private func outage(_ client: ModelClient, _ change: (inout ModelGateway) -> Void) throws {
        client.cut()
        try client.exchange()
        change(&client.gateway)
        client.mend()
        try client.exchange()
    }

    // MARK: Loading

    @Test(arguments: [7, 100, 250]) func theFirstPageHonoursFetchLimit(_ limit: Int) throws {
        let client = try client(300)
        let list = list(client, limit: limit)
        list.online()
        try client.settle()
        #expect(seqs(list) == Array(301 - limit...300))
        #expect(client.gateway.asked == ["subscribeMessages"])
        let source = ChatDataSource(
            client, conversation: "c", reader: "alice", pageSize: limit - 2)
        try client.settle()
        #expect(source.chatItems.count == limit - 2)
    }

    /// The gateway refuses a page of 0 or of 5,000, and a list that is refused ends.
    @Test(arguments: [(0, 1), (-3, 1), (5_000, 1_000)])
    func aLimitThatNobodyTakesBecomesOneThatIsTaken(_ limit: Int, _ first: Int) throws {
        let client = try client(1_200)
        let list = list(client, limit: limit)
        list.online()
        try client.settle()
        #expect(list.messageCount() == first)
        list.scrollViewDidReachTop()
        try client.settle()
        #expect(list.messageCount() == min(2 * first, 1_200))
    }

    @Test func ofTwoListsTheLargerPageCounts() throws {
        let client = try client(100)
        let (small, large) = (list(client, limit: 10), list(client, limit: 40))
        small.online()
        large.online()
        try client.settle()
        try outage(client) { $0.write(200) }
        // The newest, in pages of the larger list.
        #expect(seqs(large).suffix(40) == Array(261...300)[...])
        large.offline()
        try outage(client) { $0.write(200) }
        #expect(seqs(small).suffix(11) == Array([310] + (491...500))[...])
    }

    @Test func aListOnlineOverAThousandMissedMessagesFetchesTwoPages() throws {
        let client = try client(100)
        let list = list(client)
        list.online()
        try client.settle()
        list.scrollViewDidScroll(firstVisible: 80, lastVisible: 99)
        try outage(client) { $0.write(1_000) }
        // A view that is laid out at each change.
        for _ in 0..<50 {
            let last = list.messageCount() - 1
            list.scrollViewDidScroll(firstVisible: last - 20, lastVisible: last)
            try client.settle()
        }
        #expect(client.gateway.fetches <= 2)
        #expect(list.gaps.map(\.places) == [Coverage.Run(201, 1_000)])
    }

    @Test func withoutSubscribeNewMessagesWhatAnOutageMissedStillComes() throws {
        let client = try client(100)
        let list = list(client)
        list.subscribeNewMessages = false
        list.online()
        try client.settle()
        client.gateway.write(1)
        try client.exchange()
        #expect(list.messageCount() == 100 && list.hasMore.after)
        try outage(client) { $0.write(3) }
        #expect(seqs(list) == Array(1...104) && list.gaps.isEmpty)
        client.gateway.write(1)
        try client.exchange()
        #expect(list.messageCount() == 104)
    }

    @Test func aFocusThatIsNoNumberDoesNotTrap() throws {
        let client = try client(100)
        let source = ChatDataSource(client, conversation: "c", reader: "alice", pageSize: 50)
        try client.settle()
        for focus in [Double.nan, .infinity, -.infinity, .greatestFiniteMagnitude] {
            var didAdjust: Bool?
            source.adjustNumberOfMessages(preferredMaxCount: 40, focusPosition: focus) {
                didAdjust = $0
            }
            #expect(didAdjust != nil && source.chatItems.count == 40)
        }
    }

    @Test func whatIsAskedForOfflineIsLoadedInTheNextSession() throws {
        let client = try client(200)
        let source = ChatDataSource(client, conversation: "c", reader: "alice", pageSize: 50)
        try client.settle()
        client.cut()
        try client.exchange()
        source.loadPrevious()
        #expect(source.chatItems.count == 50)
        client.mend()
        try client.settle()
        #expect(source.chatItems.count == 100)
    }

    @Test func whatTheGatewayHealedDuringAnOutageIsAskedFor() throws {
        let client = try client(100)
        let list = list(client)
        list.online()
        try client.settle()
        client.gateway.lose(Coverage(50, 55), "upstream")
        try client.exchange()
        list.scrollViewDidScroll(firstVisible: 40, lastVisible: 60)
        try client.settle()
        // The gateway pushes that by itself.
        #expect(list.gaps.map(\.places) == [Coverage.Run(50, 55)] && client.gateway.fetches == 0)
        try outage(client) { $0.heal() }
        list.scrollViewDidScroll(firstVisible: 40, lastVisible: 60)
        try client.settle()
        #expect(list.gaps.isEmpty && client.gateway.fetches == 1)
    }

    // MARK: Subscribing

    @Test func leavingAndEnteringAConversationKeepsItsRows() throws {
        let client = try client(300)
        let list = list(client)
        list.online()
        try client.settle()
        for _ in 0..<2 {
            list.scrollViewDidReachTop()
            try client.settle()
        }
        #expect(list.messageCount() == 300)
        list.scrollViewDidScroll(firstVisible: 20, lastVisible: 40)
        let asked = client.gateway.fetches
        for _ in 0..<3 {
            list.offline()
            try client.exchange()
            #expect(list.messageCount() == 300)
            list.online()
            try client.settle()
            #expect(seqs(list) == Array(1...300) && list.gaps.isEmpty)
        }
        #expect(client.gateway.fetches == asked && list.feed.visible == 20..<41)
    }

    @Test func aHistoryThatWasClosedCanBeOpenedAgain() throws {
        let client = try client(100)
        let history = history(client, seen: 40)
        history.open()
        try client.settle()
        #expect(history.messages.compactMap(\.seq) == Array(15...65))
        #expect(history.messages.first { $0.id == history.unreadBannerAfter }?.seq == 40)
        history.close()
        client.gateway.write(5)
        try client.exchange()
        history.open()
        try client.settle()
        #expect(history.messages.compactMap(\.seq) == Array(15...65))
        while history.hasMore.after {
            history.scrolledToBottom()
            try client.settle()
        }
        #expect(history.messages.compactMap(\.seq) == Array(15...105))
        #expect(!history.loading.center && history.gaps.isEmpty)
    }

    @Test func aMessageStaysThatWentIntoALogWhichBeganAnewWhileNobodyLooked() throws {
        let client = try client(5)
        let list = list(client)
        list.online()
        try client.settle()
        client.gateway.recreate()
        let id = list.send("own")
        list.edit(list.messageAt(0).id, body: "of the log before")
        while try client.tell() {}
        list.offline()
        try client.exchange()
        #expect(client.gateway.log.place(of: id) == 1 && list.messageCount() == 6)
        list.online()
        while try client.tell() {
            #expect(list.messageCount() == 1 && list.messageAt(0).id == id)
        }
        #expect(list.drafts.isEmpty)
        #expect(list.edits.map(\.message) == ["1.1-1"])
        try client.settle()
        #expect(seqs(list) == [1] && list.messageAt(0).id == id)
    }

    /// Somebody else edits the message while its author writes, and the list shows that.
    @Test(arguments: [true, false]) func aChangeIsOfWhatItsAuthorSaw(_ isEdit: Bool) throws {
        let client = try client(5)
        let list = list(client)
        list.online()
        try client.settle()
        let id = list.messageAt(0).id
        let seen = list.see(id)
        client.gateway.change(1, delete: false)
        try client.settle()
        let others = list.messageAt(0).body
        if isEdit { list.edit(seen, body: "unseen") } else { list.delete(seen) }
        try client.settle()
        guard case .conflict = list.edits.first?.state else {
            Issue.record("it is no conflict: \(list.edits)")
            return
        }
        #expect(list.messageAt(0).body == others && !list.messageAt(0).isDeleted)
        // Who has seen that changes it.
        list.edit(list.see(id), body: "seen")
        try client.settle()
        #expect(list.messageAt(0).body == "seen")
    }

    @Test func theFirstToCloseDoesNotUnsubscribeTheOther() throws {
        let client = try client(10)
        let (first, second) = (list(client), list(client))
        first.online()
        second.online()
        try client.settle()
        first.offline()
        client.gateway.write(2)
        try client.exchange()
        #expect(first.messageCount() == 10 && second.messageCount() == 12)
        #expect(second.isLive && client.gateway.asked == ["subscribeMessages"])
    }

    @Test func aSubscriptionRefusedForGoodDoesNotSpin() throws {
        let client = try client(10)
        client.gateway.refusing = ("forbidden", true)
        let (list, history) = (list(client), history(client, seen: 5))
        list.online()
        try client.exchange()
        history.open()
        for _ in 0..<600 {
            try client.exchange()
            client.pass(1_000)
        }
        // Each has asked once.
        #expect(client.gateway.asked == ["subscribeMessages", "subscribeMessages"])
        #expect(list.ending?.reason == "forbidden" && history.ending?.reason == "forbidden")
        #expect(!list.isFetching && history.loading == History.Loading())
        // Nothing is asked by scrolling either; who comes again asks once more.
        list.scrollViewDidReachTop()
        history.scrolledToBottom()
        try client.exchange()
        #expect(client.gateway.asked.count == 2)
        client.gateway.refusing = nil
        list.offline()
        list.online()
        try client.settle()
        #expect(list.ending == nil && list.messageCount() == 10)
    }

    @Test func aSubscriptionRefusedForNowDoesNotSpin() throws {
        let client = try client(10)
        client.gateway.refusing = ("origin_unavailable", false)
        let list = list(client)
        list.online()
        for _ in 0..<600 {
            try client.exchange()
            client.pass(1_000)
        }
        // 0.5 s doubling to 30 s, in ten minutes.
        #expect((20...50).contains(client.gateway.asked.count), "\(client.gateway.asked.count)")
        #expect(list.ending == nil && !list.isLive)
        client.gateway.refusing = nil
        try client.settle()
        #expect(list.messageCount() == 10)
    }

    @Test func whatIsWrittenInOneMomentIsShownInItsOrder() throws {
        let client = try client(1)
        let list = list(client)
        list.online()
        try client.settle()
        client.cut()
        // The ids sort otherwise.
        let ids = ["b", "c", "a"]
        client.perform { session, now in
            for id in ids { session.send(Draft(id: id, body: id, createdAt: now.clock), to: "c") }
        }
        while try client.tell() {}
        #expect(list.drafts.map(\.id) == ids && (1..<4).map { list.messageAt($0).id } == ids)
    }

    private final class Told: ManagedMessageListDelegate {
        private(set) var deltas: [MessageDelta] = []
        func managedMessageListDidChange(messageDeltas: [MessageDelta]) { deltas = messageDeltas }
    }

    @Test func aDeletionIsToldAsOneAndWhatWasLetGoOfAsTrimmed() throws {
        let client = try client(300)
        let (list, told) = (list(client), Told())
        list.delegate = told
        list.online()
        try client.settle()
        client.gateway.change(250, delete: true)
        try client.exchange()
        #expect(told.deltas.map(\.type) == [.deleted] && list.messageCount() == 100)
        try outage(client) { $0.trim(to: 221) }
        #expect(told.deltas.map(\.type) == Array(repeating: .trimmed, count: 20))
        #expect(told.deltas.compactMap(\.message.seq) == Array(201...220))
        #expect(seqs(list) == Array(221...300))
    }

    /// What a plain list is told, as by `subscribeMessages(conversation:handler:)`.
    @Test func aHandlerIsToldOfGapsAndOfItsEnding() throws {
        let client = try client(300)
        var told = ToldMessages("c")
        var (list, news): ([Message], [MessagesNews]) = ([], [])
        let following = client.follow("c", limit: 100) { update in
            guard let (deltas, more) = told.take(update) else { return }
            list = applyDelta(deltas, toList: list)
            news.append(more)
        }
        try client.settle()
        #expect(list.compactMap(\.seq) == Array(201...300))
        #expect(news.count == 1 && !news[0].reset && news[0].gaps.isEmpty)
        // What is in doubt is said, though no message of the list is another.
        client.gateway.lose(Coverage(250, 250), "slow")
        try client.exchange()
        #expect(list.count == 100 && news.last?.gaps.map(\.places) == [Coverage.Run(250, 250)])
        try outage(client) { $0.write(150) }
        #expect(news.last?.gaps.compactMap(\.places).last == Coverage.Run(301, 350))
        #expect(list.compactMap(\.seq) == Array(201...300) + Array(351...450))
        client.gateway.recreate()
        client.gateway.write(2)
        try client.settle()
        #expect(news.contains { $0.reset } && list.compactMap(\.seq) == [1, 2])
        client.gateway.end("removed")
        try client.exchange()
        #expect(news.last?.ending == .removed && list.isEmpty)
        following.end()
    }

    @Test func aHandlerOfTheListIsToldThatItWasRefused() {
        var news = ConversationsNews()
        let away = RequestError(.originUnreachable, "no")
        #expect(news.take(.failed(.refused(away))) == nil && news.ending == nil)
        #expect(news.take(.failed(.refused(RequestError(.serverOnly, "no")))) == [])
        #expect(news.ending == .forbidden)
    }

    // MARK: The banner

    @Test func theBannerStaysWhereNothingIsNew() throws {
        let client = try client(100)
        let history = history(client, seen: 95)
        history.open()
        try client.settle()
        let banner = history.unreadBannerAfter
        #expect(history.messages.first { $0.id == banner }?.seq == 95)
        try outage(client) { $0.change(90, delete: false) }
        #expect(history.unreadBannerAfter == banner && banner != nil)
        try outage(client) { $0.write(1) }
        #expect(history.messages.first { $0.id == history.unreadBannerAfter }?.seq == 100)
    }

    @Test func theBannerIsThereWhereTheLogLostWhatWasSeen() throws {
        let client = try client(100)
        client.gateway.trim(to: 61)
        let history = history(client, seen: 40)
        history.open()
        try client.settle()
        #expect(history.messages.first?.seq == 61)
        #expect(history.unreadBannerAfter == nil)
        #expect(history.unreadBannerBefore == history.messages.first?.id)
        #expect(history.unreadBannerBefore != nil)
    }

    @Test func inAnotherLogThereIsNoBannerOfTheFirst() throws {
        let client = try client(100)
        let history = history(client, seen: 95)
        history.open()
        try client.settle()
        #expect(history.unreadBannerAfter != nil)
        try outage(client) { gateway in
            gateway.recreate()
            gateway.write(120)
        }
        #expect(history.messages.last?.seq == 120)
        #expect(history.unreadBannerAfter == nil && history.unreadBannerBefore == nil)
    }
}
