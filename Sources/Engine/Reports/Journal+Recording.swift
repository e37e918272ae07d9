import Chat
import Ports
import Wire

/// The journal's records, grouped by the part of the engine that makes them.
extension Journal {
    /// The kind of a write to a message.
    enum Verb: Int {
        case send, edit, delete, react

        var word: String {
            switch self {
            case .send: "send"
            case .edit: "edit"
            case .delete: "delete"
            case .react: "react"
            }
        }
    }

    // MARK: - Writes

    /// The upstream is asked to write.
    func asked(
        _ operation: Operation, token: UInt64, by session: SessionID, trace: String,
        at now: Timestamp
    ) {
        var entry = Entry(at: now, kind: .asked, session: session, number: token)
        switch operation {
        case .send(let conversation, let messages):
            entry.conversation = conversation.id
            for message in messages {
                entry.text = message.content.id ?? ""
                entry.by = message.author
                add(entry)
            }
        case .edit(let conversation, let id, _):
            entry.conversation = conversation.id
            (entry.text, entry.low) = (id, Verb.edit.rawValue)
            add(entry)
        case .delete(let conversation, let id, _):
            entry.conversation = conversation.id
            (entry.text, entry.low) = (id, Verb.delete.rawValue)
            add(entry)
        case .react(let conversation, let id, _):
            entry.conversation = conversation.id
            (entry.text, entry.low) = (id, Verb.react.rawValue)
            add(entry)
        case .create, .findDistinct, .put, .update, .addParticipants, .removeParticipants,
            .addAdmins, .removeAdmins, .deleteConversation, .leave, .markRead:
            return
        }
        traced(trace, token, at: now)
    }

    /// The write has a `traceparent` from its caller.
    private func traced(_ trace: String, _ token: UInt64, at now: Timestamp) {
        if !trace.isEmpty { add(Entry(at: now, kind: .traced, number: token, text: trace)) }
    }

    /// The upstream performed the write or refused it.
    func answered(_ token: UInt64, _ result: Result<Outcome, RequestError>, at now: Timestamp) {
        var entry = Entry(at: now, kind: .answered, number: token)
        switch result {
        case .success(.messages(let messages, _, let isNew)):
            entry.high = isNew ? 1 : 0
            for message in messages {
                (entry.low, entry.rev, entry.text) = (message.seq, message.rev, message.id)
                add(entry)
            }
        case .success(.reacted(let message, _, _)):
            (entry.low, entry.rev, entry.text) = (message.seq, message.rev, message.id)
            add(entry)
        case .success(.conversation), .success(.read), .success(.removed), .success(.done):
            return
        case .failure(let error):
            (entry.kind, entry.text, entry.by) = (.refused, error.message, error.code.rawValue)
            add(entry)
        }
    }

    /// A request was refused before the upstream was asked.
    func refused(
        _ request: Request.Outline, _ error: RequestError, _ session: Session, at now: Timestamp
    ) {
        guard let conversation = request.conversation else { return }
        // No write has so high a token.
        let number = UInt64.max - next
        var entry = Entry(
            at: now, kind: .asked, conversation: conversation.id, session: session.id,
            number: number, text: request.message ?? "", by: session.user ?? "")
        if [.subscribeMessages, .fetchMessages].contains(request.method) {
            entry.kind = .readRefused
            entry.text = "\(request.method.rawValue): \(error.code.rawValue): \(error.message)"
            add(entry)
            return
        }
        let verbs: [Method: Int] = [
            .sendMessage: 0, .editMessage: Verb.edit.rawValue, .deleteMessage: Verb.delete.rawValue,
            .react: Verb.react.rawValue,
        ]
        guard let verb = verbs[request.method] else { return }
        entry.low = verb
        add(entry)
        traced(session.trace, number, at: now)
        answered(number, .failure(error), at: now)
    }

    // MARK: - Messages and events

    /// The log brought a message, by the feed or by a fetch.
    func came(
        _ kind: Kind, _ conversation: String, _ type: DeltaType, _ message: EncodedMessage,
        at now: Timestamp
    ) {
        add(
            Entry(
                at: now, kind: kind, conversation: conversation.id, low: message.seq,
                rev: message.rev, text: message.id, by: type.rawValue))
    }

    /// All subscribers of the stream are sent these slots.
    func told(
        _ kind: Kind, _ places: Coverage, _ cause: String = "", _ stream: Stream, at now: Timestamp
    ) -> Place {
        let serial = add(
            Entry(
                at: now, kind: kind, conversation: stream.id.id,
                rev: stream.state?.position.rev ?? 0, number: UInt64(stream.subscribers.count),
                text: cause, places: places))
        return Place(serial: serial, at: now)
    }

    /// Some subscribers are sent what they were owed.
    func paid(_ places: Coverage, _ sessions: [Session], _ stream: Stream, at now: Timestamp)
        -> Place
    {
        let serial = add(
            Entry(
                at: now, kind: .paid, conversation: stream.id.id,
                rev: stream.state?.position.rev ?? 0, number: UInt64(sessions.count),
                places: places, sessions: sessions.map(\.id)))
        return Place(serial: serial, at: now)
    }

    // MARK: - Sessions

    private func entry(_ kind: Kind, _ session: Session, _ text: String = "", at now: Timestamp)
        -> Entry
    {
        Entry(at: now, kind: kind, session: session.id, text: text, by: session.user ?? "")
    }

    func connected(_ session: Session, at now: Timestamp) {
        add(entry(.connected, session, session.trace, at: now))
    }

    /// - Parameter code: nil if the client closed the connection.
    func closed(_ session: Session, _ code: CloseCode?, at now: Timestamp) {
        guard session.user != nil else { return }
        add(entry(.closed, session, code.map { String($0.rawValue) } ?? "", at: now))
    }

    /// A subscription was answered.
    func subscribed(
        _ session: Session, _ answer: EncodedResumes.Answer, _ have: Have?, _ stream: Stream,
        at now: Timestamp
    ) {
        var entry = entry(
            .subscribed, session, have == nil ? "new" : answer.isReset ? "reset" : "resumed",
            at: now)
        entry.conversation = stream.id.id
        entry.high = stream.state?.head.seq ?? 0
        entry.rev = stream.state?.position.rev ?? 0
        entry.places = answer.held
        add(entry)
        entry.kind = .shown
        entry.text = ""
        entry.places = answer.shown
        if !answer.shown.isEmpty { add(entry) }
        entry.kind = .leftOut
        for gap in answer.gaps {
            entry.places = Coverage(gap.after + 1, max(gap.after + 1, gap.before - 1))
            entry.text = gap.cause.rawValue
            add(entry)
        }
    }

    /// A subscription ends.
    func left(_ session: Session, _ stream: Stream, _ reason: String, at now: Timestamp) {
        guard let at = session.subscription(to: stream) else { return }
        var entry = entry(.left, session, reason, at: now)
        entry.conversation = stream.id.id
        entry.number = session.subscriptions[at].since
        add(entry)
    }

    /// A page was answered.
    func paged(
        _ session: Session?, _ conversation: String, _ messages: [EncodedMessage], at now: Timestamp
    ) {
        guard let session, !messages.isEmpty else { return }
        var entry = entry(.paged, session, at: now)
        entry.conversation = conversation.id
        entry.places = Coverage(places: messages.map(\.seq))
        add(entry)
    }

    /// The session's socket was given what had waited.
    func wrote(_ session: Session, from waited: Place, at now: Timestamp) {
        guard waited.serial > 0, now.milliseconds - waited.at.milliseconds >= Self.late else {
            return
        }
        var entry = entry(.wroteLate, session, at: now)
        entry.low = Int(waited.serial)
        let left = session.lane.outbox.oldest.serial
        entry.high = Int(left > 0 ? left : next)
        add(entry)
    }

    /// Events of a slow reader became a gap.
    func shed(
        _ session: Session, _ conversation: ID, _ places: Coverage, from serial: Serial,
        waiting: Int, at now: Timestamp
    ) {
        var entry = entry(.shed, session, at: now)
        entry.conversation = conversation
        entry.places = places
        entry.low = Int(serial)
        entry.number = UInt64(waiting)
        add(entry)
    }

    /// The session's queued frames are dropped.
    func discarded(_ session: Session, at now: Timestamp) {
        let oldest = session.lane.outbox.oldest
        guard oldest.serial > 0 else { return }
        var entry = entry(.discarded, session, at: now)
        entry.low = Int(oldest.serial)
        add(entry)
    }
}

extension Request {
    /// The subscriber's claim of what it holds.
    var have: Have? { if case .subscribeMessages(_, let have, _) = self { have } else { nil } }
}
