import Chat
import ClientCore
import Foundation
import SQLite
import Testing
import Wire

@testable import GaplessClient

/// A stored list is what was shown, and what its token stands for.
@Suite struct StoredListTests {
    private func record(_ id: String, _ title: String) throws -> Conversation {
        try Conversation(Array("{\"id\":\"\(id)\",\"rev\":1,\"title\":\"\(title)\"}".utf8))
    }

    @Test func whatItsTokenStandsForIsKept() throws {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("list-\(UUID().uuidString)").path
        func stored() throws -> ConversationList {
            let store = try ClientStore(path: path)
            defer { try? store.close() }
            return try #require(store.list())
        }
        let list = ConversationList(
            token: "t", [try record("stays", "new"), try record("joined", "j")],
            atToken: [
                "stays".id: ConversationList.AtToken(try record("stays", "old")),
                "left".id: ConversationList.AtToken(try record("left", "l")),
                "joined".id: ConversationList.AtToken(nil),
            ])
        let store = try ClientStore(path: path)
        #expect(store.write([], list) == nil)
        try store.close()
        let kept = try stored()
        #expect(kept.token == "t" && kept.record("stays")?.title == "new")
        #expect(kept.conversations.count == 2 && kept.atToken.count == 3)
        #expect(kept.atToken["stays".id]?.conversation?.title == "old")
        #expect(kept.atToken["left".id]?.conversation?.title == "l")
        let joined = try #require(kept.atToken["joined".id])
        #expect(joined.conversation == nil)

        // A file of an earlier version shows what its token may not stand for.
        let other = try ClientStore(path: path)
        try other.connection?.execute("DROP TABLE at_token")
        try other.close()
        let earlier = try stored()
        #expect(earlier.token == nil && earlier.conversations.count == 2)
    }
}
