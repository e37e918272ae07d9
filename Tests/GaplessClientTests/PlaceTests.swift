import JSON
import Testing
import TestSupport

@testable import GaplessClient

extension LiveClient {
    /// After an outage of any length each object for views can be made whole, from the message that
    /// was seen last on, and keeps the reader's place.
    @MainActor @Suite struct Places {
        /// A list that shows all of `count` messages, in a room where nobody else listens.
        private func list(_ room: OpsRoom, showing count: Int) async throws -> ManagedMessageList {
            try await room.expectLive()
            await room.follower.stop()
            let conversation = try await room.client.fetchConversation("ops")
            let list = ManagedMessageList(
                room.client, conversation: conversation, reader: "alice", delegate: nil)
            list.online()
            #expect(
                try await eventually {
                    if list.isLive { list.scrollViewDidReachTop() }
                    return list.messageCount() == count
                })
            return list
        }

        private func isLive(_ room: OpsRoom) async -> Bool {
            await room.client.runner.run { $0.present.isLive("ops") }
        }

        private func seqs(_ list: ManagedMessageList) -> [Int] {
            (0..<list.messageCount()).compactMap { list.messageAt($0).seq }
        }

        /// Whether between all rows that are no neighbours there is a gap.
        private func hasNoSilentHole(_ messages: [Message], _ gaps: [Timeline.Gap]) -> Bool {
            let missing = Coverage(gaps.compactMap(\.places))
            let places = messages.compactMap(\.seq)
            return zip(places, places.dropFirst()).allSatisfy { older, newer in
                newer == older + 1 || missing.contains(older + 1) || missing.contains(older)
            }
        }

        @Test func aHistoryIsMadeWholeFromTheBannerOn() async throws {
            let room = try await OpsRoom(messages: 50, isCuttable: true)
            try await room.expectLive()
            try await room.client.markRead(conversation: "ops", upTo: 50)
            let conversation = try await room.client.fetchConversation("ops")
            let history = History(room.client, conversation: conversation, reader: "alice")
            history.open()
            #expect(try await eventually { history.messages.count == 25 })
            try await room.cut()
            try room.write(300)
            try room.set(.open)
            // What is next to the last message seen comes first, unasked.
            #expect(try await eventually { history.messages.contains { $0.seq == 75 } })
            #expect(history.unreadBannerAfter == history.messages.first { $0.seq == 50 }?.id)
            #expect(history.gaps.map(\.places) == [Coverage.Run(76, 250)])
            #expect(history.hasMore.after && history.requestCount == 1)
            #expect(hasNoSilentHole(history.messages, history.gaps))
            while history.hasMore.after {
                history.scrolledToBottom()
                #expect(history.loading.bottom)
                #expect(try await eventually { !history.loading.bottom })
            }
            let isWhole = history.messages.compactMap(\.seq) == Array(26...350)
            #expect(isWhole && history.requestCount == 8)
        }

        @Test func aDataSourceIsMadeWhole() async throws {
            let room = try await OpsRoom(messages: 50, isCuttable: true)
            let source = ChatDataSource(room.client, conversation: "ops", reader: "alice")
            #expect(try await eventually { source.chatItems.count == 50 && source.isSynced })
            try await room.cut()
            try room.write(300)
            try room.set(.open)
            #expect(try await eventually { source.chatItems.count == 150 })
            #expect(source.hasMoreNext && source.gaps.map(\.places) == [Coverage.Run(51, 250)])
            source.loadNext()
            #expect(try await eventually { source.gaps.first?.places == Coverage.Run(101, 250) })
            #expect(
                try await eventually {
                    source.loadNext()
                    return !source.hasMoreNext
                })
            let items = source.chatItems.compactMap { ($0 as? MessageItem)?.message.seq }
            #expect(items == Array(1...350))
        }

        /// The recipe of the design: offline where the connection goes, online where it comes.
        @Test func offlineAndOnlineKeepWhatIsShown() async throws {
            let room = try await OpsRoom(messages: 300, isCuttable: true)
            let list = try await list(room, showing: 300)
            list.offline()
            list.online()
            #expect(try await eventually { list.isLive })
            #expect(list.messageCount() == 300 && list.gaps.isEmpty)
            try room.set(.refusing)
            #expect(try await eventually { !room.client.pubsub.isConnected })
            list.offline()
            try room.write(10)
            let first = try room.api.page("ops", "after=0&limit=1&order=asc")["messages"][0]
            try room.api.edit(first["id"].string ?? "", in: "ops", ["body": "edited"])
            try room.set(.open)
            #expect(try await eventually { room.client.pubsub.isConnected })
            list.online()
            #expect(try await eventually { list.messageCount() == 310 })
            #expect(list.gaps.isEmpty && list.messageAt(0).body == "edited")
        }

        @Test func whatWasSentWhileAwayIsNoDraftAnyMore() async throws {
            let room = try await OpsRoom(messages: 1, isCuttable: true)
            let list = try await list(room, showing: 1)
            try await room.cut(of: list)
            let id = list.send("written in a tunnel")
            #expect(try await eventually { list.drafts.map(\.id) == [id] })
            list.offline()
            try room.set(.open)
            #expect(try await eventually { await room.client.drafts(in: "ops").isEmpty })
            list.online()
            #expect(try await eventually { list.isLive && list.messageCount() == 2 })
            #expect(list.drafts.isEmpty && list.messageAt(1).id == id)
        }

        @Test func whatWasMissedWhileAwayIsAGapInItsPlace() async throws {
            let room = try await OpsRoom(messages: 300)
            let list = try await list(room, showing: 300)
            list.scrollViewDidScroll(firstVisible: 100, lastVisible: 120)
            list.offline()
            #expect(try await eventually { await !isLive(room) })
            try room.write(400)
            list.online()
            #expect(try await eventually { list.isLive && list.messageCount() == 400 })
            #expect(list.gaps.map(\.places) == [Coverage.Run(301, 600)])
            #expect(list.hasMore == Timeline.HasMore(before: false, after: true))
            #expect(seqs(list).first == 1)
        }

        /// A view at the end that is laid out at each change: the far end of the hole is nobody's
        /// business before somebody scrolls there.
        final class Layout: ManagedMessageListDelegate {
            weak var list: ManagedMessageList?

            func managedMessageListDidChange(messageDeltas: [MessageDelta]) {
                guard let list, list.messageCount() > 0 else { return }
                let last = list.messageCount() - 1
                list.scrollViewDidScroll(firstVisible: max(0, last - 20), lastVisible: last)
            }
        }

        @Test func aThousandMissedMessagesAreNotAllFetched() async throws {
            let room = try await OpsRoom(messages: 100, isCuttable: true)
            let list = try await list(room, showing: 100)
            let layout = Layout()
            layout.list = list
            list.delegate = layout
            list.scrollViewDidScroll(firstVisible: 80, lastVisible: 99)
            try await room.cut(of: list)
            try room.write(1_000)
            try room.set(.open)
            #expect(try await eventually { list.messageCount() >= 300 && !list.isFetching })
            #expect(list.feed.loads.count <= 2, "\(list.feed.loads.count) requests")
            #expect(seqs(list) == Array(1...200) + Array(1001...1100))
            // Reading on from where the reader was asks for each message once.
            list.delegate = nil
            list.scrollViewDidScroll(firstVisible: 80, lastVisible: 99)
            #expect(
                try await eventually {
                    guard let gap = list.gaps.first else { return true }
                    let at = gap.items.lowerBound
                    list.scrollViewDidScroll(firstVisible: at - 10, lastVisible: at - 1)
                    return false
                })
            #expect(seqs(list).suffix(300) == Array(801...1100)[...])
            #expect(list.feed.loads.count <= 10, "\(list.feed.loads.count) requests")
        }

        @Test func aJumpThatFailsKeepsTheList() async throws {
            let room = try await OpsRoom(messages: 20, isCuttable: true)
            try await room.expectLive()
            try await room.client.markRead(conversation: "ops", upTo: 20)
            let conversation = try await room.client.fetchConversation("ops")
            let history = History(room.client, conversation: conversation, reader: "alice")
            history.open()
            #expect(try await eventually { history.messages.count == 20 })
            history.move(to: "nobody knows this")
            #expect(history.loading.center)
            #expect(try await eventually { !history.loading.center })
            #expect(history.messages.count == 20 && history.ending == nil)
            // News still reach it.
            try room.write(1)
            #expect(try await eventually { history.messages.count == 21 })
            try await room.cut()
            #expect(try await eventually { !history.feed.window.isLive })
            history.move(to: "nor this")
            #expect(history.messages.count == 21 && !history.loading.center)
            // Closed and opened again, it goes on where it was.
            history.close()
            try room.set(.open)
            history.open()
            try room.write(1)
            #expect(try await eventually { history.messages.count == 22 })
        }

        final class Mourner: HistoryDelegate, ManagedMessageListDelegate,
            ChatDataSourceDelegateProtocol
        {
            var reasons: [String] = []

            func historyDidChange(_ history: History) {}
            func history(_ history: History, moveTo message: String, highlight: Bool) {}
            func historyDidEnd(reason: Ending) { reasons.append("history \(reason.reason)") }
            func managedMessageListDidChange(messageDeltas: [MessageDelta]) {}
            func managedMessageListDidEnd(reason: Ending) {
                reasons.append("list \(reason.reason)")
            }
            func chatDataSourceDidUpdate(
                _ chatDataSource: any ChatDataSourceProtocol, updateType: UpdateType
            ) {}
            func chatDataSourceDidEnd(reason: Ending) { reasons.append("source \(reason.reason)") }
        }

        @Test func eachIsToldOfItsEnding() async throws {
            let room = try await OpsRoom(messages: 3)
            try await room.expectLive()
            let conversation = try await room.client.fetchConversation("ops")
            let (client, mourner) = (room.client, Mourner())
            let list = ManagedMessageList(client, conversation: conversation, delegate: mourner)
            let source = ChatDataSource(client, conversation: "ops")
            let history = History(client, conversation: conversation)
            source.delegate = mourner
            history.delegate = mourner
            list.online()
            history.open()
            #expect(
                try await eventually { source.chatItems.count == 3 && list.messageCount() == 3 })
            #expect(try await eventually { history.messages.count == 3 })
            try room.api.remove("alice", from: "ops")
            #expect(try await eventually { mourner.reasons.count == 3 })
            let all = ["history removed", "list removed", "source removed"]
            #expect(mourner.reasons.sorted() == all)
            #expect(
                [list.ending, source.ending, history.ending] == [.removed, .removed, .removed])
            // One that is refused from the start ends too, and waits for nothing.
            let late = History(client, conversation: conversation)
            late.open()
            #expect(late.loading.center)
            #expect(try await eventually { late.ending != nil })
            #expect(late.ending?.reason == "not_found" && !late.loading.center)
        }

        @Test func eachSends() async throws {
            let room = try await OpsRoom(messages: 1)
            try await room.expectLive()
            let conversation = try await room.client.fetchConversation("ops")
            let list = ManagedMessageList(
                room.client, conversation: conversation, reader: "alice", delegate: nil)
            let source = ChatDataSource(room.client, conversation: "ops", reader: "alice")
            let history = History(room.client, conversation: conversation, reader: "alice")
            list.online()
            history.open()
            list.send("one", metadata: .emptyObject)
            source.send("two")
            history.send("three")
            room.client.send(conversation: "ops", body: "four")
            let bodies = ["one", "two", "three", "four"]
            #expect(try await eventually { list.messageCount() == 5 && list.gaps.isEmpty })
            #expect((1..<5).map { list.messageAt($0).body } == bodies)
            #expect(try await eventually { source.chatItems.count == 5 })
            #expect(try await eventually { history.messages.compactMap(\.seq).count == 5 })
        }
    }
}
