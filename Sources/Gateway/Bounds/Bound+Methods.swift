import WebSockets
import Wire

/// Bounds of WebSocket methods and frames.
extension Bound {
    init(_ method: Method) {
        let name = "`\(method.rawValue)`"
        switch method {
        case .connect:
            self.init(
                name, size: "24 KiB", payer: "the connection",
                beyond: "1009; 3501 after `limits.connect_timeout`; 3004 above "
                    + "`limits.connections*`")
        case .refresh:
            self.init(
                name, size: Self.frame, payer: "the connection",
                beyond: "`unauthorized`; the connection stays until its own token ends")
        case .subscribeMessages, .findBoundaries:
            self.init(
                name, size: Self.frame, rows: "its runs; `limits.reply`", memory: Self.answer,
                payer: "the sender's budget, one more for each 20 runs",
                beyond: "`too_large` above `limits.subscriptions`; " + Self.limited)
        case .fetchMessages, .fetchConversations, .subscribeConversations:
            self.init(
                name, size: Self.frame, rows: "1,000 a page; `limits.reply`", memory: Self.answer,
                beyond: Self.limited)
        case .fetchParticipants:
            self.init(
                name, size: Self.frame, rows: "those who take part", memory: Self.answer,
                beyond: Self.limited)
        case .fetchConversation:
            self.init(name, size: Self.frame, rows: "1", memory: Self.answer, beyond: Self.limited)
        case .sendMessage, .editMessage:
            self.init(
                name, size: "`limits.message`", rows: "3", memory: Self.written,
                beyond: Self.tooLarge)
        case .deleteMessage:
            self.init(
                name, size: Self.frame, rows: "3", memory: Self.written, beyond: Self.limited)
        case .react:
            self.init(
                name, size: Self.frame, rows: "4, and what the message shows of reactions",
                memory: Self.written, beyond: Self.tooLarge)
        case .fetchReactions, .fetchOwnReactions, .fetchMentions:
            self.init(
                name, size: Self.frame, rows: "1,000", memory: Self.answer, beyond: Self.limited)
        case .markRead, .leaveConversation:
            self.init(name, size: Self.frame, rows: "3", beyond: Self.limited)
        case .createConversation, .updateConversation, .addParticipants, .removeParticipants,
            .addAdmins, .removeAdmins:
            self.init(
                name, size: Self.frame, rows: "those who are named", memory: Self.written,
                beyond: Self.tooLarge)
        case .deleteConversation:
            self.init(
                name, size: Self.frame,
                rows: "those who take part; the rest is purged in small steps",
                beyond: Self.limited)
        case .watchPresence:
            self.init(
                name, size: Self.frame,
                rows: "those who take part in what it names, and `limits.presence` users",
                memory: "`limits.presence` users, while the connection watches",
                beyond: Self.tooLarge)
        case .typing, .setPresence, .unsubscribeMessages, .unsubscribeConversations:
            self.init(name, size: Self.frame, beyond: Self.limited)
        }
    }

    init(_ opcode: WebSockets.Frame.Opcode) {
        let name = "frame: \(opcode)"
        switch opcode {
        case .text:
            self.init(
                name, size: Self.frame, payer: "what it asks for", beyond: "1009, 1007")
        case .binary:
            self.init(name, size: Self.frame, beyond: "1009; an error each")
        case .continuation:
            self.init(
                name, size: "`limits.inbound_frame` for the whole message",
                payer: "the toll, where it has at most 125 bytes", beyond: Self.slowed)
        case .ping, .pong:
            self.init(
                name, size: "125 bytes", memory: "none", payer: "the toll", beyond: Self.slowed)
        case .close:
            self.init(
                name, size: "125 bytes", memory: "none", payer: "the connection, which ends",
                beyond: "what follows is dropped, for 5 s at the most")
        }
    }

    private static let frame = "`limits.inbound_frame`"
    private static let answer = "its answer, in the outbox (`limits.outbox_hard`)"
    private static let written = "its own bytes, and its answer; a hundred at a time"
    private static let limited =
        "`rate_limited` with `after`; then the connection is read with pauses"
    private static let tooLarge = "`too_large`, nothing is changed; `rate_limited`"
    private static let slowed = "200 at once, 50 a second, then not read for a second"
}
