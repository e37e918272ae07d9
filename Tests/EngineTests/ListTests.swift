import Chat
import Engine
import JSON
import Ports
import Simulation
import Testing
import Wire

/// The list of conversations as its watchers hear of it. Each of these is a fault that the
/// simulated world found.
@Suite struct ListTests {
    static func lists(_ frames: [JSONObject]) -> [JSONObject] {
        frames.filter { $0.event == "conversations" }
            .flatMap { $0["deltas"]?.array ?? [] }
            .compactMap { $0.object?["conversation"]?.object }
    }

    /// Somebody reads `c1`, which is in memory from then on.
    private static func load(_ rig: Rig) {
        rig.send(rig.connect("ben"), 2, "fetchMessages", #""conversation":"c1""#)
    }

    static func watcher(_ rig: Rig, _ user: String = "ann") -> SessionID {
        let session = rig.connect(user)
        rig.send(session, 2, "subscribeConversations")
        _ = rig.take(session)
        return session
    }

    @Test func watchingAndItsEndInOneTurnHappenInOrder() {
        let rig = Rig()
        rig.create()
        let ends = rig.connect("ann")
        let stays = rig.connect("ann")
        rig.isHoldingReads = true
        rig.send(ends, (2, "subscribeConversations", ""), (3, "unsubscribeConversations", ""))
        rig.send(
            stays, (2, "unsubscribeConversations", ""), (3, "subscribeConversations", ""))
        rig.isHoldingReads = false
        rig.answerReads()
        #expect(rig.take(ends).map(\.id) == [2, 3])
        #expect(rig.take(stays).map(\.id) == [2, 3])
        rig.say("hello")
        #expect(rig.take(ends).isEmpty)
        #expect(rig.take(stays).map(\.event) == ["conversations"])
    }

    /// The watch ends before what follows is sent, and the token says that the client knows it.
    @Test func noEventOlderThanAnAnswerIsSentBehindIt() {
        let rig = Rig()
        rig.create()
        let session = Self.watcher(rig)
        // The conversation is in memory, so that its event is sent at once.
        Self.load(rig)
        rig.isHoldingReads = true
        rig.send(session, (3, "subscribeConversations", ""), (4, "unsubscribeConversations", ""))
        rig.say("one")
        let second = NewMessage(author: "ann", content: .init(body: "two"))
        let untold = rig.writeUntold(.send(conversation: "c1", [second]))
        rig.isHoldingReads = false
        rig.answerReads()
        rig.tell(untold)
        let frames = rig.take(session)
        #expect(frames.map(\.id) == [3, 4])
        let shown = frames.first?.result?["conversations"]?.array?.first?.object
        #expect(shown?["head"]?.object?["seq"]?.int == 2)
    }

    @Test func aReplyIsNeverOlderThanAnEventBeforeIt() {
        let rig = Rig()
        rig.create()
        let session = Self.watcher(rig)
        // The conversation is in memory, so that both are read at once.
        Self.load(rig)
        rig.isHoldingReads = true
        rig.send(
            session, (3, "fetchConversation", #""conversation":"c1""#),
            (4, "fetchConversations", ""))
        rig.answerReads {
            rig.isHoldingReads = false
            rig.say("hello")
        }
        // The answers were read before the message, so that it is told behind them.
        let frames = rig.take(session)
        #expect(frames.map(\.id) == [3, 4, nil])
        #expect(Self.lists(frames).map { $0["head"]?.object?["rev"]?.int } == [2])
    }

    @Test func theLastMessageIsKnownThoughNobodyWatchedWhenTheOneBehindItWasDeleted() {
        let rig = Rig()
        rig.create()
        rig.say("one", "two")
        // Somebody reads, so that the conversation is in memory.
        let reader = rig.connect("ben")
        rig.send(reader, 2, "fetchMessages", #""conversation":"c1""#)
        let last = rig.origin.log("c1")?.message(2).id ?? ""
        rig.write(.delete(conversation: "c1", id: last), by: .user("ann"))
        let session = Self.watcher(rig)
        rig.write(.update(conversation: "c1", .init(title: "new")))
        let lists = Self.lists(rig.take(session))
        #expect(lists.map { $0["lastMessage"]?.object?["seq"]?.int } == [1])
    }

    @Test func whatTheFeedTellsAfterTheConversationWasLoadedAheadOfItIsToldToTheList() {
        let rig = Rig()
        rig.create()
        let session = Self.watcher(rig)
        let message = NewMessage(author: "ann", content: .init(body: "x"))
        let untold = rig.writeUntold(.send(conversation: "c1", [message]))
        // Loads the conversation as it is, ahead of what the feed has told.
        let reader = rig.connect("ben")
        rig.send(reader, 2, "fetchMessages", #""conversation":"c1""#)
        rig.tell(untold)
        #expect(Self.lists(rig.take(session)).map { $0["head"]?.object?["rev"]?.int } == [2])
    }

    @Test func whoIsRemovedAndTakenBackAheadOfTheFeedHasItInTheList() {
        let rig = Rig()
        rig.create()
        let session = Self.watcher(rig)
        let untold = rig.writeUntold(
            .removeParticipants(conversation: "c1", ["ann"]),
            .addParticipants(conversation: "c1", [NewParticipant(user: "ann")]))
        let reader = rig.connect("ben")
        rig.send(reader, 2, "fetchMessages", #""conversation":"c1""#)
        rig.tell(untold)
        #expect(Self.lists(rig.take(session)).last?["head"] != nil)
    }

    @Test func aConversationCreatedWhileTheStoreSaysThatThereIsNoneIsTold() {
        let rig = Rig()
        let session = Self.watcher(rig)
        rig.isHoldingReads = true
        rig.send(session, 3, "fetchMessages", #""conversation":"c1""#)
        rig.answerReads {
            rig.create()
            rig.isHoldingReads = false
        }
        #expect(Self.lists(rig.take(session)).map { $0["id"]?.string } == ["c1"])
    }

    @Test func aConversationThatIsDeletedAndCreatedAnewIsTold() {
        let rig = Rig()
        rig.create()
        rig.say("old")
        let session = Self.watcher(rig)
        rig.send(session, 3, "fetchMessages", #""conversation":"c1""#)
        _ = rig.take(session)
        let untold = rig.writeUntold(
            .deleteConversation("c1"), .put(id: "c1", .init(participants: ["ann"])))
        // A request that was answered ahead of the feed waits, and is asked again at the end.
        rig.send(session, 4, "fetchMessages", #""conversation":"c1""#)
        rig.tell(untold)
        let frames = rig.take(session)
        #expect(Self.lists(frames).map { $0["head"]?.object?["epoch"]?.string } == [nil, "e2"])
        #expect(frames.contains { $0.id == 4 && $0.result != nil })
    }

    /// The list showed the new log before the feed told that the old one has ended.
    @Test func aConversationThatWasReadAheadOfItsEndIsToldAgain() {
        let rig = Rig()
        rig.create()
        let session = Self.watcher(rig)
        rig.isHoldingReads = true
        rig.say("old")
        let message = NewMessage(author: "ann", content: .init(body: "new"))
        let untold = rig.writeUntold(
            .deleteConversation("c1"), .put(id: "c1", .init(participants: ["ann"])),
            .send(conversation: "c1", [message]))
        rig.isHoldingReads = false
        rig.answerReads()
        let shown = Self.lists(rig.take(session))
        #expect(shown.map { $0["head"]?.object?["epoch"]?.string } == ["e2"])
        // No change of the new log is news now.
        rig.tell([untold[0]])
        let lists = Self.lists(rig.take(session))
        #expect(lists.map { $0["head"]?.object?["epoch"]?.string } == [nil, "e2"])
        rig.tell(Array(untold.dropFirst()))
        #expect(Self.lists(rig.take(session)).isEmpty)
    }
}
