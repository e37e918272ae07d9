import Chat
import JSON
import Ports
import Wire

@testable import Upstream

/// What an upstream said, as text that is the same for two upstreams that mean the same: without
/// times, marks, epochs, and ids that nobody chose (the tests choose ids that begin with `m` or
/// `c`; generated ones begin with a digit). A list of conversations is sorted, because of those
/// with one moment each upstream has its own order.
enum Transcript {
    static func line(_ result: Result<Outcome, any Error>) -> String {
        switch result {
        case .failure(let error): refusal(error)
        case .success(.messages(let messages, _, let isNew)):
            "messages \(messages.map(line)) new \(isNew)"
        case .success(.reacted(let message, let own, _)): "reacted \(line(message)) own \(own)"
        case .success(.conversation(let view, let isNew)): "\(line(view)) new \(isNew)"
        case .success(.read(let reader)): line(reader)
        case .success(.removed(let people)): "removed, of \(people)"
        case .success(.done): "done"
        }
    }

    static func line(_ result: Result<HistoryAnswer, any Error>) -> String {
        switch result {
        case .failure(let error): refusal(error)
        case .success(.conversation(let view)): line(view)
        case .success(.conversations(let list)):
            "list \(list.conversations.map(line).sorted()) of \(list.total)"
                + " more \(list.next != nil)"
        case .success(.conversationsSince(let changes)):
            "changes \(changes.removed.sorted()) of \(changes.total)"
        case .success(.listed(let list)):
            "listed \(list.heads.map { "\(name($0.text)) \(line($1))" }.sorted())"
                + " read \(list.readers.map { "\(name($0.text)) \(line($1))" }.sorted())"
        case .success(.message(let message)): line(message)
        case .success(.page(let page)):
            "page \(page.messages.map(line)) \(page.hasMoreBefore) \(page.hasMoreAfter)"
                + " \(line(page.head))"
        case .success(.changes(let changes)):
            "changes \(changes.messages.map(line)) \(changes.record.map { line($0) } ?? "-")"
                + " \(line(changes.head)) up to \(changes.upTo) more \(changes.more)"
        case .success(.heads(let heads, _)):
            "heads \(heads.map { "\(name($0.key.text)) \(line($0.value))" }.sorted())"
        case .success(.participants(let list)):
            "participants \(list.participants.map(participant)) of \(list.total)"
        case .success(.reactions(let list)):
            "reactions \(list.entries.map { "\($0.user) \($0.key) \($0.rev)" }) of \(list.total)"
                + " more \(list.hasMore)"
        case .success(.mentions(let list)):
            "mentions \(list.places.map { "\(name($0.id)) \($0.seq)" }) of \(list.total)"
        case .success(.ownReactions(let own)): "own \(own.map { "\($0.seq) \($0.keys)" })"
        }
    }

    static func line(_ event: FeedEvent) -> String {
        switch event {
        case .message(let conversation, let type, let message, let head, _):
            "\(name(conversation)): \(type) \(line(message)) \(line(head))"
        case .record(let record, let head, let removed, _, let isNew, _):
            // An event may leave out whom it does not change, or name all.
            "record \(line(record, naming: false)) \(line(head)) removed \(removed) new \(isNew)"
        case .deleted(let conversation, _, let participants):
            "deleted \(name(conversation)) \(participants)"
        case .read(let conversation, let user, let seq): "read \(name(conversation)) \(user) \(seq)"
        case .listed(let user, let conversation, let isIn):
            "listed \(user) \(name(conversation)) \(isIn)"
        case .typing(let conversation, let user, let state, _):
            "typing \(name(conversation)) \(user) \(state)"
        }
    }

    private static func refusal(_ error: any Error) -> String {
        guard let error = error as? RequestError else { return "failed \(error)" }
        return "refused \(error.code) \(error.message) \(error.retry)"
    }

    private static func name(_ id: String) -> String {
        id.first?.isNumber == true ? "(generated)" : id
    }

    private static func line(_ message: EncodedMessage) -> String {
        guard let read = try? EncodedMessage.decode(json: message.json) else { return "unreadable" }
        let content = MessageContent(
            body: read.body, attachment: read.attachment, metadata: read.metadata,
            unknown: read.unknown)
        let isSound =
            message.seq == read.seq && message.rev == read.rev && message.id == read.id
            && message.author == read.author && message.isDeleted == read.isDeleted
        return "\(message.seq)@\(message.rev) \(name(message.id)) by \(message.author)"
            + " \(String(decoding: content.canonical(), as: UTF8.self))"
            + " to \(read.replyTo.map { "\($0.id) \($0.seq ?? 0)" } ?? "-") of"
            + " \(read.mentions) \(read.mentionAll) \(message.address.rawValue)"
            + " \(read.reactions.map { "\($0.key) \($0.count) \($0.users)" })"
            + " of \(read.contentRev ?? read.rev ?? 0) edited \(read.editedAt != nil)"
            + " deleted \(message.isDeleted) sound \(isSound)"
    }

    private static func line(_ head: Head) -> String {
        "head \(head.seq)@\(head.rev) from \(head.floor)"
    }

    private static func line(_ reader: ReaderState) -> String {
        "read \(reader.lastReadSeq) unread \(reader.unreadCount) \(reader.unreadMentions)"
    }

    private static func line(_ record: Record, naming: Bool = true) -> String {
        let unknown = record.unknown.map { "\($0.key)=\(text($0.value.canonical()))" }.sorted()
        // An answer may name more than a reply lists.
        let people = "\(record.participantCount) \(naming ? record.brief.participants : [])"
        return "\(name(record.id)) '\(record.title ?? "-")' \(people) \(record.admins)"
            + " \(text(record.metadata.canonical())) \(unknown) @\(record.rev)"
    }

    private static func line(_ view: ConversationView) -> String {
        "\(line(view.record)) last \(view.lastMessage.map(line) ?? "-") \(line(view.head))"
            + " \(view.reader.map(line) ?? "-")"
    }

    private static func participant(_ json: [UInt8]) -> String {
        guard let participant = try? Participant(json) else { return "unreadable" }
        let metadata = text(participant.metadata.canonical())
        return "\(participant.id) '\(participant.name ?? "-")' \(participant.lastReadSeq ?? -1)"
            + " since \(participant.joinedSeq ?? -1)"
            + " \(metadata) \(participant.unknown.map(\.key).sorted())"
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
