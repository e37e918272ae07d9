import JSON
import Ports
import Wire

/// The answer to the feed's question: changes above a position, each rev once, in order and without
/// a hole, from which `ChangeChain` makes events.
enum PostgresChain {
    /// The events, the new position, and whether there is more.
    case part([FeedEvent], Head, more: Bool)
    /// The conversation no longer exists.
    case ended
    /// Another log, a log that lost the position, an unreadable answer, or changes that can't be
    /// delivered one by one: the engine must fetch them.
    case broken
    /// The parts of the log contradict each other; this is the damaged part.
    case damaged(String)

    init(_ answer: PostgresAnswer, of conversation: String, after position: Head) {
        switch answer.word {
        case "absent": self = .ended
        case "done": self = Self.part(answer, conversation, position)
        case "damaged": self = .damaged(answer["part"]?.string ?? "log")
        default: self = .broken
        }
    }

    private static func part(
        _ answer: PostgresAnswer, _ conversation: String, _ position: Head
    ) -> PostgresChain {
        for word in ["reset", "lost", "forgotten"] where answer[word]?.bool == true {
            return .broken
        }
        guard let now = answer["head"].flatMap({ Head(postgres: $0) }), now.epoch == position.epoch,
            let revs = answer["revs"]?.array
        else { return .broken }
        var chain = ChangeChain(head: now, more: answer["more"]?.bool ?? false)
        for value in answer["messages"]?.array ?? [] {
            guard let message = EncodedMessage(postgres: value, of: conversation) else {
                return .damaged("messages")
            }
            chain.messages[message.seq] = message
        }
        chain.record =
            answer["record"].flatMap { StoredConversation(postgres: $0, of: conversation) }?.record
        for row in revs {
            guard let parts = row.array, parts.count >= 3, let rev = parts[0].place,
                let seq = parts[1].place, let mark = parts[2].string
            else { return .damaged("changes") }
            var step = ChangeChain.Step(rev: rev, seq: seq, mark: mark)
            if parts.count == 5, let joined = parts[3].array, let gone = parts[4].array {
                step.members = (joined.compactMap(\.string), gone.compactMap(\.string))
            }
            chain.steps.append(step)
        }
        switch chain.told(of: conversation, after: position) {
        case .part(let events, let head): return .part(events, head, more: chain.more)
        case .outOfOrder, .stuck: return .broken
        case .damaged(let part): return .damaged(part)
        }
    }
}
