import Chat
import Engine
import JSON
import Ports
import Simulation
import Testing
import Wire

/// What connections are told of what is unread.
@Suite struct UnreadTests {
    private struct Told: Equatable {
        var total: UnreadTotal
        var isOpen = false

        init(_ messages: Int, _ conversations: Int) {
            total = UnreadTotal(messages: messages, conversations: conversations)
        }

        init?(_ frame: JSONObject) {
            guard frame.event == "unread", let messages = frame["messages"]?.int,
                let conversations = frame["conversations"]?.int
            else { return nil }
            self.init(messages, conversations)
            total.mentions = frame["mentions"]?.int ?? -1
            isOpen = frame["open"]?.bool == true
        }
    }

    private static func told(_ rig: Rig, _ session: SessionID) -> [Told] {
        rig.take(session).compactMap { Told($0) }
    }

    private static func asking(_ rig: Rig, _ user: String = "ann") -> SessionID {
        let session = rig.open()
        rig.send(session, 1, "connect", #""user":"\#(user)","unread":true"#)
        return session
    }

    @Test func theTotalIsToldAnIntervalAfterConnectAndThenWithEachChange() {
        let rig = Rig()
        rig.create("c1")
        rig.create("c2")
        rig.say("one", "two", by: "ben")
        let session = Self.asking(rig)
        #expect(rig.take(session).map(\.id) == [1])
        rig.pass(1)
        #expect(Self.told(rig, session) == [Told(2, 1)])
        rig.pass(1)
        rig.say("three", to: "c2", by: "ben")
        #expect(Self.told(rig, session) == [Told(3, 2)])
        // Its own messages read what is there.
        rig.pass(1)
        rig.say("four", by: "ann")
        #expect(Self.told(rig, session) == [Told(1, 1)])
        rig.pass(3)
        #expect(Self.told(rig, session).isEmpty)
    }

    @Test func manyChangesAreToldOnceASecond() {
        let rig = Rig()
        rig.create()
        let session = Self.asking(rig)
        rig.pass(1)
        #expect(Self.told(rig, session) == [Told(0, 0)])
        rig.pass(1)
        for _ in 0..<10 {
            rig.say("text", by: "ben")
            rig.wait(50)
        }
        #expect(Self.told(rig, session) == [Told(1, 1)])
        rig.pass(1)
        #expect(Self.told(rig, session) == [Told(10, 1)])
    }

    @Test func whatAnAnswerSaidIsNotToldAgain() {
        let rig = Rig()
        rig.create()
        rig.say("one", by: "ben")
        let session = Self.asking(rig)
        rig.send(session, 2, "subscribeConversations")
        let answer = rig.take(session).first { $0.id == 2 }?.result?["unreadTotal"]?.object
        #expect(answer?["messages"]?.int == 1 && answer?["conversations"]?.int == 1)
        rig.pass(3)
        #expect(Self.told(rig, session).isEmpty)
        rig.say("two", by: "ben")
        #expect(Self.told(rig, session) == [Told(2, 1)])
    }

    @Test func whoDidNotAskIsNotToldAndWhoLeftIsForgotten() {
        let rig = Rig()
        rig.create()
        let other = rig.connect("ann")
        let session = Self.asking(rig)
        rig.pass(1)
        _ = rig.take(session)
        rig.engine.closed(session)
        rig.say("one", by: "ben")
        rig.pass(2)
        #expect(Self.told(rig, other).isEmpty && Self.told(rig, session).isEmpty)
        let back = Self.asking(rig)
        rig.pass(1)
        #expect(Self.told(rig, back) == [Told(1, 1)])
    }

    /// Whatever happens, the last total that a client gets is the origin's.
    @Test(arguments: 0..<20) func afterEachStepTheTotalIsTheOrigins(seed: UInt64) {
        var random = SplitMix64(seed)
        let rig = Rig()
        let users = ["ann", "ben", "cid"]
        let conversations = ["c1", "c2", "c3"]
        for id in conversations { rig.create(id, users) }
        let sessions = users.map { Self.asking(rig, $0) }
        var last: [Told?] = [nil, nil, nil]
        var parts: [[String: ReaderState]] = [[:], [:], [:]]
        for _ in 0..<80 {
            for _ in 0...random.upTo(4) {
                Self.step(rig, random.pick(conversations) ?? "", random.pick(users) ?? "", &random)
                if random.chance(20) { rig.wait(Int64(random.upTo(700))) }
            }
            rig.pass(3)
            for (at, user) in users.enumerated() {
                let frames = rig.take(sessions[at])
                for frame in frames { Self.take(frame, &parts[at]) }
                let told = frames.compactMap { Told($0) }
                last[at] = told.last ?? last[at]
                let views = rig.origin.archive.list(of: user)
                let total = UnreadTotal(views.compactMap(\.reader))
                #expect(last[at]?.total == total && last[at]?.isOpen == false)
                for view in views { #expect(parts[at][view.record.id] == view.reader) }
            }
        }
    }

    /// What an event says of single conversations.
    private static func take(_ frame: JSONObject, _ parts: inout [String: ReaderState]) {
        guard frame.event == "unread" else { return }
        for part in (frame["of"]?.array ?? []).compactMap(\.object) {
            parts[part["conversation"]?.string ?? ""] = ReaderState(
                lastReadSeq: part["lastReadSeq"]?.int ?? -1,
                unreadCount: part["unreadCount"]?.int ?? -1,
                unreadMentions: part["unreadMentions"]?.int ?? -1)
        }
    }

    private static func step(
        _ rig: Rig, _ conversation: String, _ user: String, _ random: inout SplitMix64
    ) {
        let head = rig.origin.log(conversation)?.head
        switch random.upTo(10) {
        case 0...4:
            var content = MessageContent(body: "text")
            if random.chance(40) { content.mentions = ["ann", "ben", "zoe"] }
            content.mentionAll = random.chance(10)
            rig.write(
                .send(
                    conversation: conversation, [NewMessage(author: user, content: content)]))
        case 5:
            rig.say("one", "two", "three", to: conversation, by: user)
        case 6:
            guard let head, head.seq > 0 else { return }
            rig.write(
                .markRead(conversation: conversation, seq: random.number(0...head.seq)),
                by: .user(user))
        case 7:
            guard let log = rig.origin.log(conversation), log.head.seq > 0 else { return }
            let id = log.message(random.number(1...log.head.seq)).id
            if random.chance(60) {
                rig.write(.delete(conversation: conversation, id: id))
            } else {
                let edit = MessageEdit(mentions: random.chance(50) ? ["ann", "cid"] : [])
                rig.write(.edit(conversation: conversation, id: id, edit))
            }
        case 8:
            if random.chance(50) {
                rig.write(.removeParticipants(conversation: conversation, [user]))
            } else {
                rig.write(
                    .addParticipants(
                        conversation: conversation, [NewParticipant(user: user)]))
            }
        default:
            rig.write(.put(id: conversation, .init(title: "title \(random.upTo(9))")))
        }
    }
}
