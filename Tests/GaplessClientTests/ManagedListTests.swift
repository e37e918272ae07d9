import GaplessClient
import Testing
import TestSupport

extension LiveClient {
    /// What a managed list is told to do and not to do.
    @MainActor @Suite struct ManagedLists {
        private func list(
            _ room: OpsRoom, _ configure: (ManagedMessageList) -> Void = { _ in }
        ) async throws -> ManagedMessageList {
            #expect(try await eventually { await room.follower.isLive })
            let conversation = try await room.client.fetchConversation("ops")
            let list = ManagedMessageList(
                room.client, conversation: conversation, reader: "alice", delegate: nil)
            configure(list)
            return list
        }

        @Test func withoutSubscribeNewMessagesOnlyWhatIsThereIsFollowed() async throws {
            let room = try await OpsRoom(messages: 10)
            let list = try await list(room) { $0.subscribeNewMessages = false }
            list.online()
            #expect(try await eventually { list.messageCount() == 10 && list.isLive })
            try room.write(1)
            // The edit comes behind the new message.
            let first = try room.api.page("ops", "after=0&limit=1&order=asc")["messages"][0]
            try room.api.edit(first["id"].string ?? "", in: "ops", ["body": "edited"])
            #expect(try await eventually { list.messageAt(0).body == "edited" })
            #expect(list.messageCount() == 10)
        }

        @Test func withoutUseCacheNothingIsShownBeforeItIsLive() async throws {
            let room = try await OpsRoom(messages: 10, isCuttable: true)
            let bare = try await list(room) { $0.useCache = false }
            let cached = try await list(room)
            try await room.cut()
            bare.online()
            cached.online()
            #expect(try await eventually { cached.messageCount() == 10 })
            #expect(bare.messageCount() == 0 && !bare.isLive)
            try room.set(.open)
            #expect(try await eventually { bare.messageCount() == 10 })
        }

        @Test func theUpperEdgeFetchesTheNextOlderPage() async throws {
            let room = try await OpsRoom(messages: 150)
            let list = try await list(room)
            list.online()
            #expect(try await eventually { list.messageCount() == 100 && list.isLive })
            list.scrollViewDidReachTop()
            #expect(try await eventually { list.messageCount() == 150 })
            #expect(!list.hasMore.before)
        }
    }
}
