import Chat
import Ports
import Wire

/// Explains what became of a message, from the journal. Operators ask a few times a day: it walks
/// through the whole journal.
extension EngineReport {
    /// - Complexity: O(entries + subscribers)
    package func explain(_ question: Explanation.Question, at now: Timestamp) -> Explanation {
        journal?.drop(at: now)
        var walk = ExplainWalk(question)
        let stream = streams[question.conversation.id]
        walk.users = question.user.map { [$0.id] }
        for session in (stream?.subscribers ?? []).map(\.session) {
            guard let stream, let at = session.subscription(to: stream) else { continue }
            walk.watches(session, since: session.subscriptions[at].since, journal?.first ?? 0)
        }
        if let user = question.user {
            for session in sessions.of(user.id) { walk.isConnected(session) }
        }
        journal?.forEach { walk.find($0, $1) }
        walk.learnPlace()
        journal?.forEach { walk.take($0, $1) }
        for (id, reader) in walk.readers {
            guard let session = sessions[id] else { continue }
            walk.readers[id]?.isConnected = !session.isClosing
            let oldest = session.lane.outbox.oldest.serial
            if !reader.isSettled, oldest > 0, oldest <= reader.told {
                walk.readers[id]?.became(
                    .queued, at: now, [("waiting_bytes", .number(session.lane.outbox.backlog))])
            }
        }
        // Of a conversation that nobody watches only the origin knows what it has trimmed.
        let floors = [question.floor, stream?.state?.head.floor].compactMap { $0 }
        return walk.explanation(
            begins: journal?.begins, members: stream?.state?.members, floor: floors.max())
    }
}

/// Two walks through the journal for one question: first to find the writes and sessions that it is
/// about, then what happened to them, in order.
private struct ExplainWalk {
    /// A subscription, over serials `since..<until`.
    struct Watching {
        let session: SessionID
        let user: String
        let since: Journal.Serial
        let until: Journal.Serial
    }

    let question: Explanation.Question
    let conversation: ID
    /// The users that the question is about; nil for all.
    var users: Set<ID>?
    var seq: Int?
    var id: String?
    var readers: [SessionID: Explanation.Reader] = [:]
    private var watching: [Watching] = []
    /// When there was any subscriber; the question may be about another user.
    private var watched: [Range<Journal.Serial>] = []
    private var tokens: Set<UInt64> = []
    private var verbs: [UInt64: Journal.Verb] = [:]
    /// Writes that named the message by its id, and those that were shown: of an array of messages
    /// without ids only the answer tells them apart.
    private var named: Set<UInt64> = []
    private var accepted: Set<UInt64> = []
    private var steps: [Explanation.Step] = []
    private var seen: Set<Fate> = []

    init(_ question: Explanation.Question) {
        self.question = question
        conversation = question.conversation.id
        seq = question.seq
        id = question.id
        if case .message(let message) = question.origin { (seq, id) = (message.seq, message.id) }
    }

    private func concerns(_ user: String) -> Bool { users?.contains(user.id) ?? true }

    mutating func watches(_ session: Session, since: Journal.Serial, _ first: Journal.Serial) {
        let user = session.user ?? ""
        watched.append(since..<Journal.Serial.max)
        guard concerns(user) else { return }
        watching.append(
            Watching(session: session.id, user: user, since: since, until: .max))
        // Entries about this subscription that the journal dropped are unknown.
        var reader = Explanation.Reader(session: session.id, user: user)
        reader.isSubscribed = true
        reader.fate = since < first ? .earlier : .watching
        readers[session.id] = reader
    }

    mutating func isConnected(_ session: Session) {
        if readers[session.id] == nil {
            readers[session.id] = .init(session: session.id, user: session.user ?? "")
        }
    }

    // MARK: - The first walk: writes and sessions

    mutating func find(_ serial: Journal.Serial, _ entry: Journal.Entry) {
        switch entry.kind {
        case .asked where entry.conversation == conversation:
            verbs[entry.number] = Journal.Verb(rawValue: entry.low)
            if !entry.text.isEmpty, entry.text.isSameID(id ?? "") {
                tokens.insert(entry.number)
                named.insert(entry.number)
            }
        case .answered where verbs[entry.number] != nil:
            if entry.low == seq || entry.text.isSameID(id ?? "") {
                tokens.insert(entry.number)
                (seq, id) = (entry.low, entry.text)
            }
        case .arrived where entry.conversation == conversation,
            .fetched where entry.conversation == conversation:
            if entry.low == seq || entry.text.isSameID(id ?? "") {
                (seq, id) = (entry.low, entry.text)
            }
        case .left where entry.conversation == conversation:
            watched.append(entry.number..<serial)
            guard concerns(entry.by) else { return }
            watching.append(
                Watching(
                    session: entry.session, user: entry.by, since: entry.number, until: serial))
        default: break
        }
    }

    /// Adds readers whose subscriptions ended, their past unknown.
    mutating func learnPlace() {
        for watcher in watching where readers[watcher.session] == nil {
            var reader = Explanation.Reader(session: watcher.session, user: watcher.user)
            reader.fate = .earlier
            readers[watcher.session] = reader
        }
    }

    // MARK: - The second walk: events

    mutating func take(_ serial: Journal.Serial, _ entry: Journal.Entry) {
        switch entry.kind {
        case .asked, .traced, .answered, .refused: takeWrite(serial, entry)
        case .arrived, .fetched, .told, .gapTold, .paid:
            if entry.conversation == conversation { takeEvent(serial, entry) }
        case .connected, .closed, .wroteLate, .discarded:
            if concerns(entry.by) { takeSession(serial, entry) }
        case .subscribed, .shown, .leftOut, .left, .paged, .readRefused, .shed:
            if entry.conversation == conversation, concerns(entry.by) {
                takeReading(serial, entry)
            }
        }
    }

    private mutating func note(
        _ what: String, _ entry: Journal.Entry, _ facts: [(String, Explanation.Fact)]
    ) {
        guard steps.count < Explanation.stepLimit * 10 else { return }
        steps.append(
            .init(at: entry.at, what: what, facts: facts.map { (name: $0.0, value: $0.1) }))
    }

    private mutating func takeWrite(_ serial: Journal.Serial, _ entry: Journal.Entry) {
        guard tokens.contains(entry.number) else { return }
        switch entry.kind {
        case .asked
        where entry.conversation == conversation
            && (entry.text.isSameID(id ?? "")
                || entry.text.isEmpty && !named.contains(entry.number)):
            guard accepted.insert(entry.number).inserted else { return }
            seen.insert(.waiting)
            let verb = Journal.Verb(rawValue: entry.low)?.word ?? ""
            var facts: [(String, Explanation.Fact)] = [("verb", .text(verb))]
            if !entry.by.isEmpty { facts.append(("user", .text(entry.by))) }
            facts.append(
                entry.session > 0
                    ? ("session", .number(Int(entry.session))) : ("by", .text("server API")))
            note("accepted", entry, facts)
        case .traced:
            note("trace", entry, [("traceparent", .text(entry.text))])
        case .answered where entry.low == seq:
            // An edit or a deletion is a change of its own, however often it comes.
            let isNew = entry.high == 1 || verbs[entry.number] != .send
            // Without subscribers the feed of an origin elsewhere does not bring it.
            let isWatched = watched.contains { $0.contains(serial) }
            seen.insert(!isNew ? .repeated : isWatched ? .committed : .unwatched)
            note(
                isNew ? Fate.committed.rawValue : Fate.repeated.rawValue, entry,
                [("seq", .number(entry.low)), ("rev", .number(entry.rev))])
        case .refused:
            seen.insert(.refused)
            note(
                Fate.refused.rawValue, entry,
                [("code", .text(entry.by)), ("reason", .text(entry.text))])
        default: break
        }
    }

    private mutating func takeEvent(_ serial: Journal.Serial, _ entry: Journal.Entry) {
        guard let seq else { return }
        switch entry.kind {
        case .arrived where entry.low == seq, .fetched where entry.low == seq:
            seen.insert(.unwatched)
            note(
                entry.kind == .arrived ? "arrived" : "caught_up", entry,
                [("change", .text(entry.by)), ("rev", .number(entry.rev))])
        case .told where entry.places.contains(seq):
            seen.insert(.told)
            note(
                Fate.told.rawValue, entry,
                [
                    ("event", .number(Int(serial))), ("rev", .number(entry.rev)),
                    ("sessions", .number(Int(entry.number))),
                ])
            tell(serial, entry)
        case .gapTold where entry.places.contains(seq):
            note(
                "gap_told", entry,
                [
                    ("event", .number(Int(serial))), ("cause", .text(entry.text)),
                    ("sessions", .number(Int(entry.number))),
                ])
            for watcher in watching where watcher.since <= serial && serial < watcher.until {
                readers[watcher.session]?.became(
                    .owed, at: entry.at, [("cause", .text(entry.text))])
            }
        case .paid where entry.places.contains(seq):
            seen.insert(.told)
            for session in entry.sessions {
                readers[session]?.told = serial
                readers[session]?.isSettled = false
                readers[session]?.became(
                    .filled, at: entry.at, [("event", .number(Int(serial)))])
            }
        default: break
        }
    }

    private mutating func tell(_ serial: Journal.Serial, _ entry: Journal.Entry) {
        for watcher in watching where watcher.since <= serial && serial < watcher.until {
            guard let reader = readers[watcher.session] else { continue }
            readers[watcher.session]?.told = serial
            readers[watcher.session]?.isSettled = false
            readers[watcher.session]?.became(
                reader.fate == .owed ? .filled : .written, at: entry.at,
                [("event", .number(Int(serial)))])
        }
    }

    private mutating func takeSession(_ serial: Journal.Serial, _ entry: Journal.Entry) {
        // A connection that never asked for the conversation appears only if the question names its
        // user.
        if users != nil, readers[entry.session] == nil {
            readers[entry.session] = .init(session: entry.session, user: entry.by)
        }
        guard let reader = readers[entry.session] else { return }
        switch entry.kind {
        case .connected:
            let trace = ("traceparent", Explanation.Fact.text(entry.text))
            readers[entry.session]?.note(
                "connected", at: entry.at, entry.text.isEmpty ? [] : [trace])
        case .closed:
            let code = entry.text.isEmpty ? "by the client" : entry.text
            readers[entry.session]?.isSubscribed = false
            readers[entry.session]?.note("closed", at: entry.at, [("code", .text(code))])
        case .wroteLate where reader.told >= UInt64(entry.low) && reader.told < UInt64(entry.high):
            if reader.fate == .coalesced {
                readers[entry.session]?.note("gap_written", at: entry.at)
            } else if !reader.isSettled {
                readers[entry.session]?.isSettled = true
                readers[entry.session]?.became(.writtenLate, at: entry.at)
            }
        case .discarded where reader.told >= UInt64(entry.low) && reader.fate != .writtenLate:
            readers[entry.session]?.isSettled = true
            readers[entry.session]?.became(.discarded, at: entry.at)
        default: break
        }
    }

    private mutating func takeReading(_ serial: Journal.Serial, _ entry: Journal.Entry) {
        if readers[entry.session] == nil {
            readers[entry.session] = .init(session: entry.session, user: entry.by)
        }
        guard var reader = readers[entry.session] else { return }
        defer { readers[entry.session] = reader }
        let seq = seq ?? .max
        switch entry.kind {
        case .subscribed:
            reader.isSubscribed = true
            reader.isSettled = true
            let facts: [(String, Explanation.Fact)] = [
                ("answer", .text(entry.text)), ("rev", .number(entry.rev)),
                ("newest_seq", .number(entry.high)),
            ]
            let fate: Fate =
                entry.places.contains(seq) ? .held : seq > entry.high ? .watching : .below
            reader.note("subscribed", at: entry.at, facts)
            (reader.fate, reader.at) = (fate, entry.at)
        case .shown where entry.places.contains(seq):
            reader.became(.resumed, at: entry.at)
        case .leftOut where entry.places.contains(seq):
            reader.became(Fate(gap: entry.text), at: entry.at, [("cause", .text(entry.text))])
        case .left:
            reader.isSubscribed = false
            reader.note("unsubscribed", at: entry.at, [("reason", .text(entry.text))])
            if reader.fate == .watching || reader.fate == .owed {
                reader.became(.left, at: entry.at, [("reason", .text(entry.text))])
            }
        case .paged where entry.places.contains(seq):
            if reader.fate.isShown {
                reader.note("fetched_again", at: entry.at)
            } else {
                reader.became(.fetched, at: entry.at)
            }
        case .readRefused:
            // A reader that has the message lost nothing by this.
            if reader.fate.isShown || reader.fate == .owed {
                reader.note(
                    Fate.readRefused.rawValue, at: entry.at, [("reason", .text(entry.text))])
            } else {
                reader.became(.readRefused, at: entry.at, [("reason", .text(entry.text))])
            }
        case .shed where entry.places.contains(seq):
            // Many seqs become few intervals, which may include some that were written before.
            reader.isSettled = true
            let gap = entry.places.run(at: seq)
            reader.became(
                .coalesced, at: entry.at,
                [
                    ("after", .number((gap?.low ?? seq) - 1)),
                    ("before", .number((gap?.high ?? seq) + 1)),
                    ("waiting_bytes", .number(Int(entry.number))),
                ])
        default: break
        }
    }

    // MARK: - The answer

    private func fate(begins: Timestamp?, floor: Int?) -> Fate {
        for fate in [Fate.told, .unwatched, .committed, .repeated] where seen.contains(fate) {
            return fate
        }
        let isBelow = floor.map { floor in seq.map { $0 < floor } ?? false } ?? false
        guard case .message(let message) = question.origin, !isBelow else {
            // A write that was refused here may have been repeated elsewhere: the origin decides
            // first.
            for fate in [Fate.refused, .waiting] where !isBelow && seen.contains(fate) {
                return fate
            }
            return isBelow ? .trimmed : .unknown
        }
        return begins.map { message.createdAt >= $0 } ?? false ? .unwatched : .earlier
    }

    func explanation(begins: Timestamp?, members: Set<ID>?, floor: Int?) -> Explanation {
        var readers = readers.values.filter { $0.fate != .notWatching || users != nil }
        if let user = question.user {
            let isOut = members.map { !$0.contains(user.id) } ?? false
            if readers.isEmpty {
                var reader = Explanation.Reader(session: nil, user: user)
                reader.fate = isOut ? .notParticipant : .notConnected
                readers.append(reader)
            }
            for at in readers.indices where isOut && readers[at].fate == .notWatching {
                readers[at].fate = .notParticipant
            }
        }
        let fate = self.fate(begins: begins, floor: floor)
        // Nobody waits for what is not in the log.
        if case .none = question.origin, fate == .unknown || fate == .refused {
            readers.removeAll { $0.fate == .watching }
        }
        readers.sort { ($0.user, $0.session ?? 0) < ($1.user, $1.session ?? 0) }
        return Explanation(
            conversation: question.conversation, seq: seq, id: id,
            fate: fate, origin: question.origin, begins: begins,
            steps: steps, readers: Array(readers.prefix(Explanation.readerLimit)),
            counts: readers.reduce(into: [:]) { $0[$1.fate, default: 0] += 1 })
    }
}

extension Fate {
    /// The fate of a message in a gap of this cause.
    fileprivate init(gap cause: String) {
        self =
            switch cause {
            case GapCause.upstream.rawValue, GapCause.cache.rawValue: .owed
            case GapCause.trimmed.rawValue: .trimmed
            default: .leftOut
            }
    }
}
