import Chat
import Wire

/// One event, encoded once, as it stands in the outboxes of all who get it. Nothing in it is about
/// its receiver; what shedding must know of it (the places it touched, its part of the stream)
/// travels beside the bytes. Immutable, made on the loop.
package final class Broadcast {
    /// What the event is, as far as a reader that falls behind is concerned.
    package enum Kind: Sendable {
        /// A part of a conversation's stream, from change `prev` to change `asOf`. `touched` holds
        /// every place that its deltas or its `covers` name; `record` says that slot 0 changed.
        case stream(
            prev: Int, asOf: Int, touched: Coverage, deltas: Int, record: Record?, head: Head,
            isOpen: Bool)
        /// Dropped first.
        case typing
        /// Of these only the latest of each key counts.
        case read(user: String)
        /// `head`: the newest change that it tells of, nil of a conversation that is gone.
        case conversations(head: Head?)
        case upstream
        case unread
        case ping
    }

    package let frame: Frame
    /// Bytes of the frame.
    let size: Int
    package let kind: Kind
    /// Deltas in it, for the accounting.
    package let deltas: Int
    /// Whether it is about a list of conversations: asked for each receiver.
    let isAboutList: Bool
    /// The conversation that the event is about, empty for `upstream`, `unread` and `ping`.
    package let conversation: ID

    /// The accounting of the conversation.
    let accounting: ConversationAccounting?
    /// Where it stands in the journal.
    let place: Journal.Place

    package init(_ payload: [UInt8], _ kind: Kind, conversation: String = "") {
        frame = Frame(payload)
        size = frame.bytes.count
        self.kind = kind
        deltas = kind.deltas
        isAboutList = kind.isAboutList
        self.conversation = conversation.id
        accounting = nil
        place = .none
    }

    /// A part of the stream.
    init(
        _ payload: [UInt8], _ kind: Kind, of stream: Stream, at place: Journal.Place? = nil
    ) {
        frame = Frame(payload)
        size = frame.bytes.count
        self.kind = kind
        deltas = kind.deltas
        isAboutList = kind.isAboutList
        conversation = stream.id.id
        accounting = stream.accounting
        self.place = place ?? .none
    }

    /// Whether it shows lists a conversation as it was at this head.
    func shows(_ head: Head) -> Bool {
        if case .conversations(head) = kind { true } else { false }
    }

    /// Whether it shows lists a conversation as it was before this head.
    func shows(before head: Head) -> Bool {
        guard case .conversations(let shown?) = kind else { return false }
        return shown.epoch == head.epoch && shown.rev < head.rev
    }
}

extension Broadcast.Kind {
    fileprivate var deltas: Int {
        if case .stream(_, _, _, let deltas, _, _, _) = self { deltas } else { 0 }
    }

    fileprivate var isAboutList: Bool {
        if case .conversations = self { true } else { false }
    }
}
