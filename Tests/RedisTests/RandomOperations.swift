import Chat
import JSON
import Ports
import TestSupport
import Wire

/// Writes and questions of every kind, at random but the same from the same seed: over few users,
/// conversations and ids, so that they meet.
struct RandomOperations {
    private var random: SplitMix64
    private let users = ["alice", "bob", "carol", "dave"]
    let conversations = ["c1", "c2", "c}%{"]

    /// Those who take part in each conversation beside them, unless they are taken out.
    private let crowd: [String]

    /// - Parameter crowd: how many take part in each conversation beside the few who do something.
    init(seed: UInt64, crowd: Int = 0) {
        random = SplitMix64(seed: seed)
        self.crowd = (0..<crowd).map { "one of many \($0)" }
    }

    private mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &random)
    }

    private mutating func chance(_ percent: Int) -> Bool { number(1...100) <= percent }

    private mutating func user() -> String { users[number(0...users.count - 1)] }

    private mutating func some() -> [String] {
        (0..<number(0...2)).map { _ in user() }
    }

    private mutating func message() -> String { "m\(number(1...12))" }

    mutating func conversation() -> String { conversations[number(0...conversations.count - 1)] }

    mutating func anybody() -> String { user() }

    mutating func caller() -> Caller { chance(30) ? .server : .user(user()) }

    private mutating func members() -> [JSONMember] {
        chance(80) ? [] : [JSONMember(key: "x\(number(1...2))", value: RawJSON(int: number(1...2)))]
    }

    private mutating func metadata() -> RawJSON? {
        guard chance(30) else { return nil }
        return RawJSON(unchecked: Array("{\"k\":\(number(1...2))}".utf8))
    }

    private mutating func content() -> MessageContent {
        MessageContent(
            id: chance(60) ? message() : nil, body: chance(95) ? "b\t\"\(number(1...2))\\é" : nil,
            attachment: chance(10) ? .true : nil, metadata: metadata(),
            replyTo: chance(25) ? Reply(id: message()) : nil,
            mentions: chance(40) ? mentioned() : [], mentionAll: chance(8), unknown: members())
    }

    /// Users of whom not all take part.
    private mutating func mentioned() -> [String] {
        Array(Set((some() + [user(), "eve\"\\é"]).map(\.id))).map(\.text).sorted()
    }

    private mutating func fields() -> ConversationFields {
        let participants = chance(50) ? crowd + some() + [user()] : nil
        let admins = chance(20) ? (participants?.first).map { [$0] } ?? some() : nil
        return ConversationFields(
            title: chance(30) ? .some(chance(70) ? "t\(number(1...2))" : nil) : .none,
            metadata: metadata(), participants: participants, admins: admins, unknown: members())
    }

    /// - Parameter caller: Who will ask for it.
    mutating func operation(by caller: Caller) -> Operation {
        let id = conversation()
        switch number(1...100) {
        case ...40:
            let author = if case .user(let user) = caller, chance(95) { user } else { user() }
            let messages = (0..<(chance(80) ? 1 : number(0...4))).map { _ in
                NewMessage(author: author, content: content(), asksAdmin: chance(50))
            }
            return .send(conversation: id, messages)
        case ...52:
            let body: String?? = chance(80) ? .some(chance(90) ? "e\(number(1...2))" : nil) : .none
            var edit = MessageEdit(body: body, metadata: metadata(), unknown: members())
            if chance(40) { edit.mentions = chance(30) ? [] : mentioned() }
            if chance(20) { edit.mentionAll = chance(50) }
            edit.asksAdmin = chance(50)
            return .edit(conversation: id, id: message(), edit)
        case ...56: return .delete(conversation: id, id: message())
        case ...62:
            let key = ["+1", "é", "e\u{301}", "ha ha"][number(0...3)]
            let other = chance(20) ? user() : nil
            return .react(
                conversation: id, id: message(),
                ReactionCall(key: key, isOn: chance(65), user: caller == .server ? user() : other))
        case ...66: return .put(id: id, fields())
        case ...70: return .update(conversation: id, fields())
        case ...75:
            let joining = some().map { user in
                NewParticipant(
                    user: user, name: chance(30) ? "n\(number(1...2))" : nil, metadata: metadata(),
                    unknown: members())
            }
            return .addParticipants(conversation: id, joining)
        case ...78: return .removeParticipants(conversation: id, some())
        case ...81: return .addAdmins(conversation: id, some())
        case ...84: return .removeAdmins(conversation: id, some())
        case ...86: return .leave(id)
        case ...94: return .markRead(conversation: id, seq: number(-1...12))
        case ...96: return .deleteConversation(id)
        default:
            let name = chance(50) ? id : nil
            return .create(id: name, fields(), distinct: chance(50))
        }
    }

    private mutating func anchor(_ percent: Int) -> Anchor? {
        guard chance(percent) else { return nil }
        return chance(70)
            ? .seq(number(0...14))
            : chance(80)
                ? .id(message()) : .time(Timestamp(milliseconds: chance(50) ? 0 : 1 << 45))
    }

    mutating func query() -> HistoryQuery {
        let id = conversation()
        switch number(1...100) {
        case ...50:
            return .page(
                conversation: id,
                PageRequest(
                    before: anchor(40), after: anchor(40), around: anchor(15),
                    limit: number(1...6), order: chance(50) ? .desc : .asc))
        case ...55:
            return .reactions(
                conversation: id, message: message(),
                ReactionsRequest(
                    key: chance(50) ? "+1" : nil, limit: number(1...3), after: number(0...20)),
                for: user())
        case ...60:
            return .ownReactions(conversation: id, after: 0, before: number(1...20), of: user())
        case ...65:
            return .mentions(
                conversation: id, after: number(0...6), limit: number(1...4), of: user())
        case ...75:
            return .changes(
                conversation: id, since: number(0...20), mark: chance(10) ? "00" : nil,
                limit: number(1...6))
        case ...82: return .conversation(id, reader: chance(70) ? user() : nil)
        case ...88: return .message(conversation: id, id: message())
        case ...92: return .heads(conversations)
        case ...96:
            let request = ParticipantsRequest(
                limit: number(-1...2), offset: number(0...2) + (chance(50) ? crowd.count : 0),
                order: chance(50) ? .desc : .asc)
            return .participants(
                conversation: id, request, reader: chance(50) ? user() : nil)
        case ...98: return .listed(user: user())
        default: return .conversations(user: user(), limit: 10, cursor: nil)
        }
    }
}
