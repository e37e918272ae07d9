import Chat
import Wire

/// One event, encoded once and shared by the outboxes of all its receivers: its bytes hold nothing
/// specific to a receiver. What shedding needs (the slots it touches, its part of the stream) is
/// kept beside the bytes. Immutable, made on the loop.
package final class Broadcast {
    /// How the event is treated for a slow reader.
    package enum Kind: Sendable {
        /// A part of a conversation's stream, from change `prev` to change `asOf`. `touched` has
        /// every slot that its deltas or its `covers` name; `record` is set if slot 0 changed.
        case stream(
            prev: Int, asOf: Int, touched: Coverage, deltas: Int, record: Record?, head: Head,
            isOpen: Bool)
        /// Shed first.
        case typing
        /// Not shed, since none is queued while the reader is above the soft limit.
        case presence
        /// Shedding keeps the latest of each key.
        case read(user: String)
        /// `head`: the newest change it reports; nil for a deleted conversation.
        case conversations(head: Head?)
        case upstream
        /// Not shed, since the next waits until it was taken.
        case unread
        case ping
    }

    package let frame: Frame
    /// Bytes of the frame.
    let size: Int
    package let kind: Kind
    /// Deltas in it, for the accounting.
    package let deltas: Int
    /// Whether it is about a list of conversations; stored, because each receiver checks it.
    let isAboutList: Bool
    /// The conversation that the event is about, empty for `presence`, `upstream`, `unread`
    /// and `ping`.
    package let conversation: ID

    /// The accounting of the conversation.
    let accounting: ConversationAccounting?
    /// Its place in the journal.
    let place: Journal.Place

    package init(_ payload: [UInt8], _ kind: Kind, conversation: String = "") {
        frame = Frame(payload)
        size = frame.count
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
        size = frame.count
        self.kind = kind
        deltas = kind.deltas
        isAboutList = kind.isAboutList
        conversation = stream.id.id
        accounting = stream.accounting
        self.place = place ?? .none
    }

    /// Whether it shows the conversation in a list as of this head.
    func shows(_ head: Head) -> Bool {
        if case .conversations(head) = kind { true } else { false }
    }

    /// Whether it shows the conversation in a list, and not that it left.
    var showsConversation: Bool {
        if case .conversations(.some) = kind { true } else { false }
    }

    /// Whether it shows the conversation in a list as of an earlier change of the same log.
    func shows(before head: Head) -> Bool {
        guard case .conversations(let shown?) = kind else { return false }
        return shown.epoch == head.epoch && shown.rev < head.rev
    }

    /// Whether it shows the conversation in a list as of this head or a later one of its epoch.
    func shows(atLeast head: Head) -> Bool {
        guard case .conversations(let shown?) = kind else { return false }
        return shown.isAtLeast(head)
    }
}

extension Broadcast.Kind {
    fileprivate var deltas: Int {
        if case .stream(_, _, _, let deltas, _, _, _) = self { deltas } else { 0 }
    }

    var isUnread: Bool { if case .unread = self { true } else { false } }

    fileprivate var isAboutList: Bool {
        if case .conversations = self { true } else { false }
    }
}
