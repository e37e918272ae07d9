import Chat
import Ports
import Wire

/// What those who watch a stream are told, and with whom it waits: message changes of a turn are
/// gathered per conversation and encoded once, whoever gets them. `Pacing` decides when a
/// conversation speaks and `Delivery` who is written. Owned by the engine and shared by what moves
/// streams; it moves none itself.
final class Fanout {
    /// One stream's part: what its subscribers were told, and what they are about to be. Changed by
    /// `Fanout` alone.
    struct Outgoing {
        fileprivate(set) var batch = Batch()
        /// The position that subscribers were told last.
        fileprivate(set) var told = 0
        /// The last frame to some subscriber said that the conversation is open.
        fileprivate var hasSaidOpen = false
        /// The last frame to each subscriber did.
        fileprivate var haveAllHeardOpen = false

        /// The stream begins here, or jumps here: nobody was told of what lies between.
        mutating func begin(at rev: Int) { told = rev }

        /// A reply said that the conversation is open: its subscriber is told when it is not any
        /// more.
        mutating func noteOpen() { hasSaidOpen = true }

        /// An event to all subscribers said so.
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
        /// A batch above this goes out as a frame of its own: what one write of the socket takes.
        fileprivate static let limit = 65_536
    }

    /// Outboxes, what is in flight, and the accounting.
    @exclusivity(unchecked) var delivery: Delivery
    /// Which conversations speak, and when.
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

    /// The stream has something to say at the end of the turn.
    func touch(_ stream: Stream) { pacing.touch(stream) }

    // MARK: - Messages

    /// A message has another value.
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

    /// Sends the message changes gathered so far, and where the stream stands.
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

    /// Those who watch are told by name that there may be more than they know.
    func tellOpen(_ stream: Stream) {
        guard let state = stream.state, !stream.subscribers.isEmpty,
            !stream.outgoing.haveAllHeardOpen
        else { return }
        say(stream, state)
    }

    private func say(_ stream: Stream, _ state: Stream.State) {
        let batch = stream.outgoing.batch
        stream.outgoing.batch = Batch()
        stream.pace.noteFanOut(of: batch.deltas.count)
        let isOpen = stream.isOpen
        let told = stream.outgoing.told
        let payload = ServerFrame.messages(
            conversation: stream.id, deltas: batch.deltas, covers: batch.covers, prev: told,
            asOf: state.position.rev, head: state.head, open: isOpen)
        let event = Broadcast(
            payload,
            .stream(
                prev: told, asOf: state.position.rev, touched: batch.covers,
                deltas: batch.deltas.count, record: nil, head: state.head, isOpen: isOpen),
            of: stream, at: journal?.told(.told, batch.covers, "", stream, at: clock.now))
        send(event, to: stream)
        stream.paid(batch.covers)
        stream.outgoing.told = state.position.rev
        stream.outgoing.hasSaidOpen = isOpen
        stream.outgoing.haveAllHeardOpen = isOpen
    }

    func send(_ event: Broadcast, to stream: Stream) {
        pacing.noteSpoken(stream)
        delivery.push(event, to: stream.subscribers)
    }

    // MARK: - The record

    /// Slot 0 has another value. What is told of messages stands before it in the log, and was
    /// flushed before the stream moved.
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

    /// These users do not take part any more: their subscriptions end.
    /// - Returns: the sessions whose they were, which are yet to be told.
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

    /// Those who watch are told what they don't hold any more; the stream has not moved by it.
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

    /// Sends places to those subscribers who were told that they would be, to each what it is owed.
    func payOwed(_ places: Coverage, _ messages: [EncodedMessage], _ stream: Stream) {
        guard stream.replica?.isOwed == true else { return }
        // The same may have come by another way in this turn.
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
