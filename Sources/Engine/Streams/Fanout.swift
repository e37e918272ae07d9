import Chat
import Ports
import Wire

/// The fan-out of a stream: gathers a turn's message changes per conversation and encodes them once
/// for all subscribers. `Pacing` decides when a conversation sends, `Delivery` which sockets are
/// written. Owned by the engine and shared by everything that moves streams; it moves none itself.
final class Fanout {
    /// The outgoing state of one stream: what its subscribers were sent, and what is pending.
    /// Changed only by `Fanout`.
    struct Outgoing {
        fileprivate(set) var batch = Batch()
        /// The position in the last frame to subscribers.
        fileprivate(set) var told = 0
        /// The last frame to at least one subscriber said `open`.
        fileprivate var hasSaidOpen = false
        /// The last frame to every subscriber did.
        fileprivate var haveAllHeardOpen = false

        /// The stream begins here or jumps here; nothing below was sent.
        mutating func begin(at rev: Int) { told = rev }

        /// A reply said `open`: its subscriber must be sent a frame when that ends.
        mutating func noteOpen() { hasSaidOpen = true }

        /// An event to all subscribers said `open`.
        fileprivate mutating func noteAllOpen() {
            hasSaidOpen = true
            haveAllHeardOpen = true
        }
    }

    /// Message changes of this turn that were not sent yet.
    struct Batch {
        fileprivate(set) var deltas: [EncodedDelta] = []
        fileprivate var covers = Coverage()
        fileprivate var bytes = 0
        /// A larger batch goes out as a frame of its own: it is what one write of the socket takes.
        fileprivate static let limit = 65_536
        /// The memory for so many changes stays for the next batch.
        fileprivate static let kept = 4

        /// All of it was sent.
        fileprivate mutating func clear() {
            deltas.removeAll(keepingCapacity: deltas.capacity <= Self.kept)
            covers = Coverage()
            bytes = 0
        }
    }

    /// Outboxes, bytes in flight, and the accounting.
    @exclusivity(unchecked) var delivery: Delivery
    /// When each conversation sends.
    @exclusivity(unchecked) var pacing: Pacing
    let clock: Clock
    private let journal: Journal?

    init(_ limits: Limits, _ clock: Clock, _ journal: Journal?) {
        self.clock = clock
        self.journal = journal
        pacing = Pacing(limits)
        delivery = Delivery(limits, journal)
    }

    /// The limits were reloaded.
    func adopt(_ limits: Limits) {
        pacing.adopt(limits)
        delivery.adopt(limits)
    }

    /// The stream has something to send at the end of the turn.
    func touch(_ stream: Stream) { pacing.touch(stream) }

    // MARK: - Messages

    /// A message has a new value.
    func tell(_ type: DeltaType, _ via: Via, _ message: EncodedMessage, _ stream: Stream) {
        stream.pace.noteArrival()
        if via != .live { journal?.came(.fetched, stream.id, type, message, at: clock.now) }
        guard !stream.subscribers.isEmpty else { return }
        if stream.outgoing.batch.deltas.isEmpty { pacing.touch(stream) }
        stream.outgoing.batch.deltas.append(EncodedDelta(type, via, message))
        stream.outgoing.batch.covers.insert(message.seq, message.seq)
        stream.outgoing.batch.bytes += message.json.count
        if stream.outgoing.batch.bytes > Batch.limit { flush(stream) }
    }

    /// Sends the gathered message changes and the stream's position.
    func flush(_ stream: Stream) {
        guard let state = stream.state else { return }
        guard !stream.subscribers.isEmpty else {
            stream.outgoing = Outgoing()
            stream.outgoing.told = state.position.rev
            return
        }
        guard
            !stream.outgoing.batch.deltas.isEmpty || stream.outgoing.told != state.position.rev
                || stream.outgoing.hasSaidOpen && !stream.isOpen
        else { return }
        say(stream, state)
    }

    /// Sends subscribers `open`: there may be changes that this gateway does not know.
    func tellOpen(_ stream: Stream) {
        guard let state = stream.state, !stream.subscribers.isEmpty,
            !stream.outgoing.haveAllHeardOpen
        else { return }
        say(stream, state)
    }

    private func say(_ stream: Stream, _ state: Stream.State) {
        let (deltas, covers) = (stream.outgoing.batch.deltas.count, stream.outgoing.batch.covers)
        stream.pace.noteFanOut(of: deltas)
        let isOpen = stream.isOpen
        let told = stream.outgoing.told
        let payload = ServerFrame.messages(
            conversation: stream.id, deltas: stream.outgoing.batch.deltas, covers: covers,
            prev: told, asOf: state.position.rev, head: state.head, open: isOpen)
        stream.outgoing.batch.clear()
        let event = Broadcast(
            payload,
            .stream(
                prev: told, asOf: state.position.rev, touched: covers, deltas: deltas, record: nil,
                head: state.head, isOpen: isOpen),
            of: stream, at: journal?.told(.told, covers, "", stream, at: clock.now))
        send(event, to: stream)
        stream.paid(covers)
        stream.outgoing.told = state.position.rev
        stream.outgoing.hasSaidOpen = isOpen
        stream.outgoing.haveAllHeardOpen = isOpen
    }

    func send(_ event: Broadcast, to stream: Stream) {
        pacing.noteSpoken(stream)
        let place = delivery.push(event, to: stream.subscribers)
        // Messages wait for messages; what else is told about the conversation holds up none.
        if let place, case .stream = event.kind { stream.pace.noteSliced(upTo: place) }
    }

    // MARK: - The record

    /// Slot 0 has a new value. Message changes before it in the log were flushed before the stream
    /// moved.
    func tell(_ record: Record, _ stream: Stream) {
        guard let state = stream.state else { return }
        guard !stream.subscribers.isEmpty else {
            return stream.outgoing.begin(at: state.position.rev)
        }
        let isOpen = stream.isOpen
        let told = stream.outgoing.told
        let payload = ServerFrame.conversation(
            record, prev: told, asOf: state.position.rev, head: state.head, open: isOpen)
        send(
            Broadcast(
                payload,
                .stream(
                    prev: told, asOf: state.position.rev, touched: Coverage(), deltas: 0,
                    record: record, head: state.head, isOpen: isOpen), of: stream),
            to: stream)
        stream.outgoing.told = state.position.rev
        if isOpen { stream.outgoing.noteAllOpen() }
    }

    /// Ends the subscriptions of users who no longer take part.
    /// - Returns: their sessions, which are still to be notified.
    func remove(_ users: [String], from stream: Stream) -> [Session] {
        guard !users.isEmpty else { return [] }
        for user in users { stream.reading.readership.remove(user.id) }
        let gone = Set(users.map(\.id))
        let sessions = stream.subscribers.map(\.session).filter { session in
            session.user.map { gone.contains($0.id) } ?? false
        }
        for session in sessions {
            journal?.left(session, stream, "removed", at: clock.now)
            stream.remove(session)
        }
        return sessions
    }

    // MARK: - Gaps

    /// Sends subscribers a gap for slots that they no longer hold; the stream does not move.
    func tellGap(_ places: Coverage, _ cause: GapCause, _ stream: Stream) {
        guard let state = stream.state, !stream.subscribers.isEmpty, !places.isEmpty else { return }
        let isOpen = stream.isOpen
        let told = stream.outgoing.told
        let payload = ServerFrame.gap(
            conversation: stream.id,
            gaps: stream.position(state, at: clock.now).gaps(places, cause),
            prev: told, asOf: told, head: state.head, open: isOpen)
        send(
            Broadcast(
                payload,
                .stream(
                    prev: told, asOf: told, touched: places, deltas: 0, record: nil,
                    head: state.head, isOpen: isOpen), of: stream,
                at: journal?.told(.gapTold, places, cause.rawValue, stream, at: clock.now)),
            to: stream)
        if isOpen { stream.outgoing.noteAllOpen() }
    }

    /// Sends these slots to the subscribers that they are owed to, to each its own part.
    func sendOwed(_ places: Coverage, _ messages: [EncodedMessage], _ stream: Stream) {
        guard stream.replica?.isOwed == true else { return }
        // The same slots may be in this turn's batch already.
        flush(stream)
        guard let state = stream.state else { return }
        let told = stream.outgoing.told
        for (owed, sessions) in stream.owing(places) {
            let deltas = messages.filter { owed.contains($0.seq) }
                .map { EncodedDelta(.inserted, .fill, $0) }
            let payload = ServerFrame.messages(
                conversation: stream.id, deltas: deltas, covers: owed, prev: told, asOf: told,
                head: state.head, open: stream.isOpen)
            let event = Broadcast(
                payload,
                .stream(
                    prev: told, asOf: told, touched: owed, deltas: deltas.count, record: nil,
                    head: state.head, isOpen: stream.isOpen), of: stream,
                at: journal?.paid(owed, sessions, stream, at: clock.now))
            for session in sessions where !session.isClosing { delivery.push(session, event) }
            if stream.isOpen { stream.outgoing.noteOpen() }
        }
        stream.paid(places)
    }
}
