import Foundation
import GaplessClient
import Testing
import TestSupport

extension LiveClient {
    /// The objects for views, as views use them, against a real gateway.
    @MainActor @Suite struct Faces {
        /// A table that carries out what the list says.
        final class Table: ManagedMessageListDelegate {
            var rows: Set<String> = []
            var calls = 0

            func managedMessageListDidChange(messageDeltas: [MessageDelta]) {
                calls += 1
                for delta in messageDeltas {
                    switch delta.type {
                    case .inserted: #expect(rows.insert(delta.message.id).inserted)
                    case .updated, .deleted: #expect(rows.contains(delta.message.id))
                    case .trimmed: #expect(rows.remove(delta.message.id) != nil)
                    }
                }
            }
        }

        private func gateway(_ count: Int) throws -> (GatewayProcess, ServerAPI) {
            let gateway = try GatewayProcess()
            let api = gateway.api()
            try api.put("ops", ["participants": ["alice", "bob"]])
            var written = 0
            while written < count {
                let next = min(1000, count - written)
                try api.post(
                    (0..<next).map { ["author": "bob", "body": .string("\(written + $0 + 1)")] },
                    to: "ops")
                written += next
            }
            return (gateway, api)
        }

        /// A list that has gone online, and is not live yet.
        private func open(
            _ client: ChatClient, _ table: Table? = nil
        ) async throws -> ManagedMessageList {
            client.connect()
            #expect(try await eventually { client.pubsub.isConnected })
            let conversation = try await client.fetchConversation("ops")
            let list = ManagedMessageList(
                client, conversation: conversation, reader: "alice", delegate: table)
            list.online()
            return list
        }

        private func list(_ client: ChatClient, _ table: Table) async throws -> ManagedMessageList {
            let list = try await open(client, table)
            #expect(try await eventually { list.messageCount() > 0 && list.isLive })
            return list
        }

        private func seqs(_ list: ManagedMessageList) -> [Int] {
            (0..<list.messageCount()).compactMap { list.messageAt($0).seq }
        }

        @Test func whereItWasScrolledToBeforeItWasLiveIsFetchedThen() async throws {
            let (gateway, _) = try gateway(450)
            let client = try client(gateway, "alice")
            let list = try await open(client)
            list.scrollViewDidScroll(firstVisible: 0, lastVisible: 20)
            #expect(!list.isFetching)
            #expect(try await eventually { list.messageCount() == 200 })
        }

        @Test func aManagedListFollowsAndFetchesAsItIsScrolled() async throws {
            let (gateway, api) = try gateway(450)
            let client = try client(gateway, "alice")
            let table = Table()
            let list = try await list(client, table)
            #expect(seqs(list) == Array(351...450))
            list.scrollViewDidScroll(firstVisible: 80, lastVisible: 99)
            #expect(!list.isFetching)
            list.scrollViewDidScroll(firstVisible: 20, lastVisible: 40)
            #expect(list.isFetching)
            #expect(try await eventually { list.messageCount() == 200 })
            #expect(seqs(list) == Array(251...450))
            try api.post(["author": "bob", "body": "new"], to: "ops")
            #expect(try await eventually { list.messageCount() == 201 })
            let id = client.send("mine", to: "ops")
            #expect(try await eventually { list.messageAt(list.messageCount() - 1).id == id })
            #expect(
                try await eventually { list.messageAt(list.messageCount() - 1).seq == 452 })
            #expect(table.rows.count == list.messageCount())
            list.offline()
            try api.post(["author": "bob", "body": "unheard"], to: "ops")
            list.online()
            #expect(try await eventually { list.messageAt(list.messageCount() - 1).seq == 453 })
            #expect(table.rows.count == list.messageCount())
        }

        @Test func anOutageIsMadeWholeWhereTheReaderIs() async throws {
            let (gateway, api) = try gateway(100)
            let proxy = try TCPProxy(to: gateway.port)
            defer { proxy.close() }
            let client = try client(gateway, "alice", port: proxy.port)
            let table = Table()
            let list = try await list(client, table)
            proxy.set(.refusing)
            #expect(try await eventually { !client.pubsub.isConnected })
            try api.post(
                (0..<250).map { ["author": "bob", "body": .string("later \($0)")] }, to: "ops")
            proxy.set(.open)
            client.wake()
            // The newest come first; the hole below them is filled as the reader comes near.
            #expect(try await eventually { list.messageAt(list.messageCount() - 1).seq == 350 })
            #expect(
                try await eventually {
                    let place = list.gaps.last?.items.lowerBound ?? list.messageCount() - 1
                    list.scrollViewDidScroll(firstVisible: max(0, place - 5), lastVisible: place)
                    return list.gaps.isEmpty && list.messageCount() == 350
                })
            let isWhole = seqs(list) == Array(1...350)
            #expect(isWhole)
            #expect(table.rows.count == 350)
        }

        @Test func whoDoesNotSyncIsShownAGap() async throws {
            let (gateway, api) = try gateway(50)
            let proxy = try TCPProxy(to: gateway.port)
            defer { proxy.close() }
            let client = try client(gateway, "alice", port: proxy.port)
            let table = Table()
            let list = try await list(client, table)
            list.syncOnReconnect = false
            proxy.set(.refusing)
            #expect(try await eventually { !client.pubsub.isConnected })
            try api.post(
                (0..<20).map { ["author": "bob", "body": .string("later \($0)")] }, to: "ops")
            let first = try api.page("ops", "after=0&limit=1&order=asc")["messages"][0]
            try api.edit(first["id"].string ?? "", in: "ops", ["body": "edited"])
            proxy.set(.open)
            client.wake()
            #expect(try await eventually { list.messageAt(0).body == "edited" })
            #expect(list.messageCount() == 50)
            #expect(list.gaps.map(\.places) == [Coverage.Run(51, 70)])
            #expect(
                try await eventually {
                    list.scrollViewDidReachBottom()
                    return list.messageCount() == 70 && list.gaps.isEmpty
                })
        }

        final class View: ChatDataSourceDelegateProtocol {
            var updates: [UpdateType] = []

            func chatDataSourceDidUpdate(
                _ chatDataSource: any ChatDataSourceProtocol, updateType: UpdateType
            ) {
                updates.append(updateType)
            }
        }

        @Test func aDataSourceIsAWindow() async throws {
            let (gateway, api) = try gateway(1200)
            let client = try client(gateway, "alice")
            client.connect()
            let source = ChatDataSource(client, conversation: "ops", reader: "alice")
            let view = View()
            source.delegate = view
            source.pageSize = 500
            #expect(try await eventually { source.chatItems.count == 50 })
            #expect(view.updates == [.firstLoad])
            #expect(source.hasMorePrevious && !source.hasMoreNext)
            source.loadPrevious()
            #expect(try await eventually { source.chatItems.count == 550 })
            #expect(view.updates.last == .pagination)
            // 150 too many, and the view at the top: the newest go.
            var didAdjust = false
            source.adjustNumberOfMessages(preferredMaxCount: 400, focusPosition: 0) {
                didAdjust = $0
            }
            #expect(didAdjust && source.chatItems.count == 400)
            #expect(view.updates.last == .messageCountReduction)
            #expect(source.hasMoreNext)
            // What is said now does not show: the window does not touch the end.
            try api.post(["author": "bob", "body": "news"], to: "ops")
            source.loadNext()
            #expect(try await eventually { source.chatItems.count == 551 })
            #expect(!source.hasMoreNext)
            try api.post(["author": "bob", "body": "more"], to: "ops")
            #expect(try await eventually { source.chatItems.count == 552 })
            #expect(view.updates.last == .normal)
            source.adjustNumberOfMessages(preferredMaxCount: nil, focusPosition: 0) {
                didAdjust = $0
            }
            #expect(!didAdjust)
        }

        final class Screen: HistoryDelegate {
            var moves: [String] = []
            var centered = false

            func historyDidChange(_ history: History) {
                if history.loading.center { centered = true }
            }

            func history(_ history: History, moveTo message: String, highlight: Bool) {
                moves.append((highlight ? "!" : "") + message)
            }
        }

        private func history(
            _ client: ChatClient, _ screen: Screen, lastRead: Int?
        ) async throws -> History {
            client.connect()
            #expect(try await eventually { client.pubsub.isConnected })
            if let lastRead {
                try await client.markRead(conversation: "ops", upTo: lastRead)
            }
            let conversation = try await client.fetchConversation("ops")
            let history = History(client, conversation: conversation, reader: "alice")
            history.delegate = screen
            history.open()
            return history
        }

        @Test func aHistoryWithUnreadMessagesOpensAtTheBanner() async throws {
            let (gateway, _) = try gateway(300)
            let client = try client(gateway, "alice")
            let screen = Screen()
            let history = try await history(client, screen, lastRead: 100)
            #expect(try await eventually { history.unreadBannerAfter != nil })
            #expect(history.scenario == .unread(lastSeen: 100))
            let banner = try #require(
                history.messages.firstIndex { $0.id == history.unreadBannerAfter })
            #expect(history.messages[banner].seq == 100)
            #expect(screen.centered && screen.moves == [history.messages[banner].id])
            #expect(history.hasMore == Timeline.HasMore(before: true, after: true))
            // 3 and 4: by scrolling, but not while the view moves by itself.
            let requests = history.requestCount
            history.isProgrammaticallyScrolling = true
            history.scrolledToTop()
            history.scrolledToBottom()
            #expect(history.requestCount == requests)
            history.isProgrammaticallyScrolling = false
            history.scrolledToTop()
            history.scrolledToBottom()
            #expect(history.loading.top && history.loading.bottom)
            #expect(try await eventually { history.messages.count == 101 })
            #expect(history.messages.compactMap(\.seq) == Array(50...150))
        }

        @Test func aHistoryThatWasSeenOpensAtTheEnd() async throws {
            let (gateway, api) = try gateway(60)
            let proxy = try TCPProxy(to: gateway.port)
            defer { proxy.close() }
            let client = try client(gateway, "alice", port: proxy.port)
            let screen = Screen()
            let history = try await history(client, screen, lastRead: 60)
            #expect(try await eventually { !screen.moves.isEmpty })
            #expect(history.scenario == .seen && history.unreadBannerAfter == nil)
            let last = try #require(history.messages.last)
            #expect(last.seq == 60 && screen.moves == [last.id])
            // 6: what is there is moved to without a request, what is not is loaded anew.
            let requests = history.requestCount
            let there = history.messages[3].id
            history.move(to: there)
            #expect(history.requestCount == requests && screen.moves.last == "!" + there)
            let far =
                try api.page("ops", "after=2&limit=1&order=asc")["messages"][0]["id"].string ?? ""
            history.move(to: far)
            #expect(history.messages.isEmpty && history.loading.center)
            #expect(try await eventually { screen.moves.last == "!" + far })
            #expect(history.messages.compactMap(\.seq) == Array(1...28))
            // 7: to a moment.
            history.move(to: last.createdAt)
            #expect(try await eventually { screen.moves.last != "!" + far })
            // Back to the end, then 5: an outage puts a banner above what is new.
            while history.hasMore.after {
                history.scrolledToBottom()
                try await Task.sleep(for: .milliseconds(20))
            }
            proxy.set(.refusing)
            #expect(try await eventually { !client.pubsub.isConnected })
            try api.post(["author": "bob", "body": "while away"], to: "ops")
            proxy.set(.open)
            client.wake()
            #expect(try await eventually { history.messages.last?.seq == 61 })
            #expect(try await eventually { history.unreadBannerAfter == last.id })
        }

        /// A reader that walks through a long history never holds more than a few screens of it.
        @Test func aWalkStaysTrimmed() async throws {
            let (gateway, _) = try gateway(8_000)
            var options = ChatClient.Options()
            options.retainedMessages = 500
            let client = try ChatClient(
                url: "ws://127.0.0.1:\(gateway.port)/v1/ws", options: options
            ) { _ in .user("alice") }
            let table = Table()
            let list = try await list(client, table)
            list.fetchLimit = 500
            var most = 0
            while list.messageAt(0).seq != 1 {
                list.scrollViewDidScroll(firstVisible: 0, lastVisible: 20)
                // Nothing under way and not at the beginning: it would go on without end.
                try #require(list.isFetching)
                #expect(try await eventually { !list.isFetching })
                most = max(most, list.messageCount())
            }
            #expect(list.messageAt(0).seq == 1)
            // A page, what is kept beside the view, and the newest that are kept for the way back.
            #expect(most <= 500 + 20 + 200 + 500, "\(most) messages at once")
            #expect(table.rows.count == list.messageCount())
        }
    }
}
