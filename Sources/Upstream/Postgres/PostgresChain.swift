import JSON
import Ports
import Wire

/// What an answer to the feed's question comes to: changes above a position, each rev of them once,
/// in order and without a hole. An event brings the value that its slot has now, which may be newer
/// than the change that it tells.
enum PostgresChain {
    /// The events, the new position, and whether there is more.
    case part([FeedEvent], Head, more: Bool)
    /// There is no such conversation any more.
    case ended
    /// Another log, one that has lost the position, or an answer that is none.
    case broken
    /// The parts of the log contradict each other: which.
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
        var values: [Int: EncodedMessage] = [:]
        for value in answer["messages"]?.array ?? [] {
            guard let message = EncodedMessage(postgres: value, of: conversation) else {
                return .damaged("messages")
            }
            values[message.seq] = message
        }
        let view = answer["record"].flatMap { RedisView(postgres: $0, of: conversation) }
        var events: [FeedEvent] = []
        var head = position
        head.floor = now.floor
        for row in revs {
            guard let parts = row.array, parts.count == 3, let rev = parts[0].place,
                let seq = parts[1].place, let mark = parts[2].string, rev == head.rev + 1
            else { return .damaged("changes") }
            (head.rev, head.mark) = (rev, mark)
            let isNew = seq > head.seq
            head.seq = max(head.seq, seq)
            if seq == 0 {
                guard let record = view?.record else { return .damaged("record") }
                events.append(.record(record, head: head, removed: [], isNew: rev == 1))
            } else if let message = values[seq] {
                let type: DeltaType =
                    isNew ? .inserted : message.isDeleted ? .deleted : .updated
                events.append(.message(conversation: conversation, type, message, head: head))
            } else if seq >= now.floor {
                return .damaged("messages")
            }
            // What was trimmed has no value: the hole that it leaves is closed by reading.
        }
        let more = answer["more"]?.bool ?? false
        guard more || head.rev == now.rev else { return .damaged("changes") }
        guard !more || head.rev > position.rev else { return .broken }
        return .part(events, head, more: more)
    }
}
