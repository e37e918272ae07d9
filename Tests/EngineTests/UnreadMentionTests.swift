import Chat
import Engine
import JSON
import Ports
import Simulation
import Testing
import Wire

/// What connections are told of mentions, and of single conversations.
@Suite struct UnreadMentionTests {
    private static func asking(_ rig: Rig, _ user: String = "ann") -> SessionID {
        let session = rig.open()
        rig.send(session, 1, "connect", #""user":"\#(user)","unread":true"#)
        return session
    }

    private static func send(
        _ rig: Rig, _ id: String? = nil, to conversation: String = "c1", by author: String = "ben",
        _ users: [String] = [], all: Bool = false
    ) {
        let content = MessageContent(id: id, body: "text", mentions: users, mentionAll: all)
        rig.write(
            .send(conversation: conversation, [NewMessage(author: author, content: content)]))
    }

    private static func edit(_ rig: Rig, _ id: String, _ edit: MessageEdit) {
        rig.write(.edit(conversation: "c1", id: id, edit))
    }

    private static func mentions(_ rig: Rig, _ session: SessionID) -> [Int] {
        rig.take(session).filter { $0.event == "unread" }.compactMap { $0["mentions"]?.int }
    }

    private static func lists(_ queries: [Query]) -> Int {
        queries.count { if case .listed = $0 { true } else { false } }
    }

    private static func views(_ queries: [Query]) -> Int {
        queries.count { if case .view = $0 { true } else { false } }
    }

    /// Otherwise one edit in a large conversation has the lists of all who are there read.
    @Test func whoIsThereWhenAMessageComesFollowsItsEditsWithoutARead() {
        let rig = Rig()
        rig.create()
        let session = Self.asking(rig)
        rig.pass(1)
        Self.send(rig, "m", all: true)
        Self.send(rig, "n", ["ann"])
        rig.pass(1)
        #expect(Self.mentions(rig, session).last == 2)
        rig.queries = []
        Self.edit(rig, "m", MessageEdit(body: "typo"))
        rig.pass(2)
        #expect(Self.mentions(rig, session).isEmpty)
        Self.edit(rig, "n", MessageEdit(mentions: []))
        rig.pass(2)
        #expect(Self.mentions(rig, session) == [1])
        rig.write(.markRead(conversation: "c1", seq: 1), by: .user("ann"))
        rig.pass(2)
        #expect(Self.mentions(rig, session) == [0])
        #expect(Self.lists(rig.queries) == 0 && Self.views(rig.queries) == 0)
    }

    @Test func whatWasUnreadBeforeIsAskedForInItsConversationAlone() {
        let rig = Rig()
        rig.create()
        rig.create("c2")
        Self.send(rig, "m", all: true)
        Self.send(rig, "n", ["ann"])
        let session = Self.asking(rig)
        rig.pass(1)
        #expect(Self.mentions(rig, session) == [2])
        rig.queries = []
        Self.edit(rig, "m", MessageEdit(mentionAll: false))
        rig.pass(3)
        #expect(Self.mentions(rig, session) == [1])
        #expect(Self.lists(rig.queries) == 0 && Self.views(rig.queries) == 1)
    }

    /// The mention is all that was unread, and is deleted.
    @Test func noMentionIsToldWhereNothingIsUnread() {
        let rig = Rig()
        rig.create()
        let session = Self.asking(rig)
        rig.pass(1)
        Self.send(rig, "m", ["ann"])
        rig.pass(1)
        #expect(Self.mentions(rig, session).last == 1)
        rig.isHoldingReads = true
        rig.write(.delete(conversation: "c1", id: "m"))
        rig.pass(3)
        let frames = rig.take(session).filter { $0.event == "unread" }
        #expect(frames.map { $0["mentions"]?.int } == [0])
        let of = frames.last?["of"]?.array?.first?.object
        #expect(of?["unreadCount"]?.int == 0 && of?["unreadMentions"]?.int == 0)
    }

    private struct Numbers: Equatable {
        var lastRead: Int?
        var unread: Int?
        var mentions: Int?

        init(_ object: JSONObject) {
            lastRead = object["lastReadSeq"]?.int
            unread = object["unreadCount"]?.int
            mentions = object["unreadMentions"]?.int
        }

        init(_ reader: ReaderState) {
            (lastRead, unread) = (reader.lastReadSeq, reader.unreadCount)
            mentions = reader.unreadMentions
        }
    }

    /// What a client shows that takes events and answers as they come.
    private struct Shown {
        var mentions: Int?
        var numbers: [String: Numbers] = [:]
        /// The conversations of the answers that it waits for.
        var asked: [Int: String] = [:]

        mutating func take(_ frame: JSONObject) {
            if frame.event == "unread" {
                mentions = frame["mentions"]?.int
                for of in (frame["of"]?.array ?? []).compactMap(\.object) {
                    numbers[of["conversation"]?.string ?? ""] = Numbers(of)
                }
            } else if let id = frame.id, let conversation = asked.removeValue(forKey: id),
                let result = frame.result
            {
                numbers[conversation] = Numbers(result["conversation"]?.object ?? result)
            }
        }
    }

    /// Whatever happens, the numbers that a client shows are the origin's in the end.
    @Test(arguments: 0..<20) func afterEachStepTheNumbersAreTheOrigins(seed: UInt64) {
        var random = SplitMix64(seed)
        let rig = Rig()
        let users = ["ann", "ben", "cid"]
        let conversations = ["c1", "c2", "c3"]
        for id in conversations { rig.create(id, users) }
        let sessions = users.map { Self.asking(rig, $0) }
        var shown = users.map { _ in Shown() }
        var call = 1
        for _ in 0..<60 {
            for _ in 0...random.upTo(5) {
                let at = random.upTo(users.count)
                let conversation = random.pick(conversations) ?? ""
                guard random.chance(70) else {
                    call += 1
                    let seq = rig.origin.log(conversation)?.head.seq ?? 0
                    let marker = random.chance(50) ? #","seq":\#(random.number(0...seq))"# : nil
                    shown[at].asked[call] = conversation
                    rig.send(
                        sessions[at], call, marker == nil ? "fetchConversation" : "markRead",
                        #""conversation":"\#(conversation)""# + (marker ?? ""))
                    continue
                }
                Self.step(rig, conversation, users[at], users, &random)
                if random.chance(20) { rig.wait(Int64(random.upTo(700))) }
            }
            rig.pass(4)
            for (at, user) in users.enumerated() {
                for frame in rig.take(sessions[at]) { shown[at].take(frame) }
                var total = 0
                for view in rig.origin.archive.list(of: user) {
                    guard let reader = view.reader else { continue }
                    total += reader.unreadMentions
                    let id = view.record.id
                    #expect(shown[at].numbers[id] == Numbers(reader), "\(user) in \(id)")
                }
                #expect(shown[at].mentions == total)
            }
        }
    }

    private static func step(
        _ rig: Rig, _ conversation: String, _ user: String, _ users: [String],
        _ random: inout SplitMix64
    ) {
        let named = users.filter { _ in random.chance(40) }
        guard let log = rig.origin.log(conversation), log.head.seq > 0, random.chance(60) else {
            return send(rig, to: conversation, by: user, named, all: random.chance(15))
        }
        let message = log.message(random.number(1...log.head.seq))
        switch random.upTo(8) {
        case 0...1:
            rig.write(
                .edit(conversation: conversation, id: message.id, MessageEdit(body: "other")))
        case 2...4:
            let edit = MessageEdit(mentions: named, mentionAll: random.chance(20))
            rig.write(.edit(conversation: conversation, id: message.id, edit))
        case 5:
            rig.write(.delete(conversation: conversation, id: message.id))
        case 6:
            rig.write(
                .markRead(
                    conversation: conversation, seq: random.number(0...log.head.seq)),
                by: .user(user))
        default:
            rig.write(.removeParticipants(conversation: conversation, [user]))
            if random.chance(70) {
                rig.write(
                    .addParticipants(conversation: conversation, [NewParticipant(user: user)]))
            }
        }
    }
}
