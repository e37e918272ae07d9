import Chat
import Ports
import Wire

/// What a request needs of a replica before the cache can answer it, and the outcome if the origin
/// does not bring that: a subscription is answered with the remaining gaps, a fetch with an error.
extension RequestDesk {
    // MARK: - Waiting

    /// The calls that wait for the stream are tried again.
    func wake(_ stream: Stream) {
        guard !stream.waits.calls.isEmpty, stream.replica?.isLoaded == true else { return }
        let waiting = stream.waits.takeCalls()
        for call in waiting { perform(call) }
    }

    // MARK: - Reach

    /// Whether the stream has all that the answer must not miss, or the call has waited for that
    /// long enough; otherwise it waits.
    func reaches(_ call: inout Call, _ stream: Stream, _ state: Stream.State) -> Bool {
        judge(&call, stream, state)
        if call.reach.atLeast != nil, call.reach.isConfirmed == nil, !call.reach.hasAskedStore {
            askStore(call, stream)
            return false
        }
        return !call.reach.isShort || !waits(call, stream)
    }

    /// Finds out how far the stream is from what the answer must not miss.
    private func judge(_ call: inout Call, _ stream: Stream, _ state: Stream.State) {
        let era = stream.replica?.era
        if call.era !== era || call.reach.epoch != state.head.epoch {
            // A log confirmed in another era need not be this one.
            (call.isConfirmed, call.hasAskedCache, call.era) = (nil, false, era)
            call.reach.begin(known: stream.replica?.known ?? 0, of: state.head.epoch)
        }
        if let least = call.reach.atLeast, call.reach.isConfirmed == nil {
            call.reach.isConfirmed = sync.proofs.has(least, stream, state)
        }
        if call.reach.isRefuted { call.isConfirmed = false }
        guard let replica = stream.replica else { return }
        call.reach.isShort =
            !replica.isLive || !replica.reaches(call.reach.known, at: state.position.rev)
            || call.reach.isMissing(at: state.position.rev)
    }

    /// The caller is to forget what it holds: a subscription that went on would be about that.
    func endSubscription(of call: Call, _ stream: Stream, _ state: Stream.State) {
        guard let session = connections[call.session], session.subscription(to: stream) != nil
        else { return }
        journal?.left(session, stream, "reset", at: now)
        stream.remove(session)
        connections.push(session, ServerFrame.reset(conversation: stream.id, head: state.head))
    }

    /// The answer is near, so this wait has no deadline.
    private func askStore(_ call: Call, _ stream: Stream) {
        guard let least = call.reach.atLeast else { return }
        var call = call
        call.reach.hasAskedStore = true
        sync.store.read(.confirm(conversation: stream.id, least), for: .reach(call))
    }

    /// The store answered whether the log has what the call must not miss. Of a log that lives
    /// elsewhere the cache can only confirm it; of its own log the store knows all: also that it
    /// has ended, which the stream hears of later.
    func answered(_ call: Call, about result: Result<Answer, RequestError>) {
        var call = call
        switch result {
        case .success(.confirmation(let holds)):
            // It may have been read before the feed brought another log of this name.
            let holds = holds == true && call.reach.atLeast?.epoch == call.reach.epoch
            if holds || !mirrors { call.reach.isConfirmed = holds }
        case .failure(let error) where !mirrors: return fail(call, error)
        case .success, .failure: break
        }
        perform(call)
    }

    /// Makes the call wait for what the stream lacks, unless that took too long already.
    /// - Returns: whether it waits.
    private func waits(_ call: Call, _ stream: Stream) -> Bool {
        guard sync.wait(call, for: stream) else { return false }
        stream.waits.await(max(call.reach.known, call.reach.atLeast?.rev ?? 0))
        if let least = call.reach.atLeast, call.reach.isConfirmed == nil,
            stream.replica?.isConfirmed == true
        {
            sync.proofs.askOrigin(for: least, stream)
        }
        return true
    }

    /// The basis of an answer to the call.
    func position(of call: Call, _ stream: Stream, _ state: Stream.State) -> StreamPosition {
        var position = stream.position(state, at: now)
        position.isOpen = position.isOpen || call.reach.isShort
        return position
    }

    // MARK: - Subscriptions

    /// Answers a subscription of a replica, or has it wait for what it needs.
    func subscribeMirrored(
        _ call: Call, _ stream: Stream, _ state: Stream.State, _ have: Have?, _ limit: Int
    ) {
        guard let replica = stream.replica, let farBehind = sync.options?.farBehind else { return }
        guard !replica.copy.isDetached else { return fail(call, .noCache) }
        var call = call
        if let have, call.isConfirmed == nil || have.head.epoch != state.head.epoch {
            if let isConfirmed = sync.proofs.confirms(have, stream, state) {
                call.isConfirmed = isConfirmed
            } else if !call.hasAskedCache {
                // The answer is near, so this wait has no deadline of its own.
                call.hasAskedCache = true
                stream.waits.calls.append(call)
                return sync.proofs.askCache(have.head, stream)
            } else if replica.isConfirmed, sync.wait(call, for: stream) {
                return sync.proofs.askOrigin(have.head, stream)
            } else {
                // An unconfirmed `have` is answered like a refuted one.
                call.isConfirmed = false
            }
        }
        let newest = state.head.seq
        let oldest = max(state.head.floor, newest - limit + 1)
        guard let have, call.isConfirmed == true else {
            let latest = Coverage.closed(oldest, newest)
            guard has(latest, call, stream) else { return }
            let request = PageRequest(
                before: .seq(newest + 1), after: .seq(oldest - 1), limit: limit)
            return ask(.page(conversation: stream.id, request), call)
        }
        sync.settleBackfill(stream)
        if let from = stream.replica?.copy.changesFrom, have.asOf < from, !have.runs.isEmpty,
            replica.isLive, from - have.asOf <= farBehind
        {
            stream.replica?.copy.fillBack(from: have.asOf)
            sync.fetcher.fillBack(stream)
            if sync.wait(call, for: stream) { return }
        }
        let top = have.runs.clipped(1, newest).last ?? 0
        guard has(Coverage.closed(max(oldest, top + 1), newest), call, stream) else { return }
        var known = have
        known.head = state.position
        known.head.seq = max(known.head.seq, newest)
        known.asOf = min(have.asOf, state.position.rev)
        ask(
            .catchUp(
                conversation: stream.id, have: known, limit: limit, bytes: limits.replyBytes), call)
    }

    /// Whether the cache holds these seqs, or the call must do without. If not, they are fetched
    /// and the call waits.
    private func has(_ places: Coverage, _ call: Call, _ stream: Stream) -> Bool {
        let missing = places.subtracting(stream.replica?.copy.held ?? Coverage())
        guard !missing.isEmpty, stream.replica?.isConfirmed == true else { return true }
        guard sync.wait(call, for: stream) else { return true }
        sync.fetcher.fetch(missing, of: stream)
        return false
    }

    // MARK: - Pages

    /// Answers `fetchMessages` of a replica: at once if the cache is fresh for all of it, otherwise
    /// in two phases: what the cache has, then all of it.
    func fetchMirrored(
        _ call: Call, _ stream: Stream, _ state: Stream.State, _ request: PageRequest
    ) {
        guard let replica = stream.replica else { return }
        guard !replica.copy.isDetached else { return fail(call, .noCache) }
        var call = call
        judge(&call, stream, state)
        if call.reach.atLeast != nil, call.reach.isConfirmed == nil, !call.reach.hasAskedStore {
            return askStore(call, stream)
        }
        guard request.around == nil || request.before == nil && request.after == nil else {
            return fail(
                call,
                RequestError(
                    .fieldsExclusive, "around: not accepted together with before or after"))
        }
        if let (anchor, field) = request.unplaced(call) {
            return locate(call, anchor, field, stream)
        }
        let range = request.range(floor: state.head.floor, newest: state.head.seq, call.place)
        let missing = range.subtracting(replica.copy.held)
        if replica.isLive, !call.reach.isShort, missing.isEmpty {
            return ask(.page(conversation: stream.id, request), call)
        }
        if call.takesCached {
            call.takesCached = false
            let held = range.intersection(replica.copy.held)
            guard let low = range.first, let high = range.last, !held.isEmpty else {
                return fetchMirrored(call, stream, state, request)
            }
            let bounded = PageRequest(
                before: .seq(high + 1), after: .seq(low - 1),
                limit: min(1000, high - low + 1), order: request.order)
            return sync.store.read(.page(conversation: stream.id, bounded), for: .shown(call))
        }
        guard waits(call, stream) else { return fail(call, sync.fetcher.unavailable(stream)) }
        sync.fetcher.fetch(missing, of: stream)
    }

    /// The cached phase: what the cache has.
    func showed(_ call: Call, _ result: Result<Answer, RequestError>) {
        guard case .fetchMessages(let conversation, let request) = call.request,
            let (stream, state) = admit(call, conversation)
        else { return }
        if case .success(.page(let page)) = result, let session = connections[call.session],
            page.head.epoch == state.head.epoch
        {
            fanout.flush(stream)
            let shown = page.settled(
                floor: state.head.floor, newest: state.head.seq, request, call.place)
            journal?.paged(session, stream.id, shown.messages, at: now)
            connections.push(
                session,
                ServerFrame.reply(id: call.id, cached: true) {
                    $0.page(
                        shown, position(of: call, stream, state),
                        reachesBelow: request.reaches(
                            below: state.head.floor, newest: state.head.seq, call.place))
                })
        }
        perform(call)
    }

    // MARK: - Anchors

    private func locate(_ call: Call, _ anchor: Anchor, _ field: String, _ stream: Stream) {
        switch anchor {
        case .seq: break
        case .id(let id):
            sync.store.read(
                .place(conversation: stream.id, id: id),
                for: .place(call, id: id, field: field))
        case .time(let moment):
            guard !sync.fetcher.isUnavailable(stream) else {
                return fail(call, sync.fetcher.unavailable(stream))
            }
            let request = PageRequest(before: anchor, limit: 1)
            sync.fetcher.ask(
                .moment(call, moment), .page(conversation: stream.id, request), 0)
        }
    }

    /// The cache answered where the message with the anchor's id is.
    func placed(
        _ call: Call, _ id: String, _ field: String, _ result: Result<Answer, RequestError>
    ) {
        guard case .fetchMessages(let conversation, _) = call.request,
            let (stream, _) = admit(call, conversation)
        else { return }
        if case .success(.place(let place?)) = result {
            return perform(call.with(id: id, at: place))
        }
        guard !sync.fetcher.isUnavailable(stream) else {
            return fail(call, sync.fetcher.unavailable(stream))
        }
        sync.fetcher.ask(
            .message(call, id: id), .message(conversation: conversation, id: id), 0)
    }

    /// The origin answered the same.
    func located(
        _ call: Call, id: String, _ result: Result<HistoryAnswer, RequestError>
    ) {
        switch result {
        case .success(.message(let message)):
            perform(call.with(id: id, at: message.seq))
        case .failure(let error) where error.code == .notFound:
            guard case .fetchMessages(_, let request) = call.request else { return }
            let field = request.unplaced(call)?.field ?? "anchor"
            fail(
                call,
                RequestError(.messageNotFound, "\(field): no such message in this conversation"))
        case .failure(let error): fail(call, error.damagedPart == nil ? .originUnavailable : error)
        case .success: fail(call, .originUnavailable)
        }
    }

    /// The origin answered which message is the last before the time.
    func located(
        _ call: Call, _ moment: Timestamp, _ result: Result<HistoryAnswer, RequestError>
    ) {
        switch result {
        case .success(.page(let page)):
            let place = page.messages.first?.seq ?? max(0, page.head.floor - 1)
            perform(call.with(moment, behind: place))
        case .failure(let error) where error.damagedPart != nil: fail(call, error)
        case .success, .failure: fail(call, .originUnavailable)
        }
    }

    // MARK: - Held replies

    /// Holds the reply to a write until the feed has brought its change, so that the client's later
    /// reads include it.
    func holdsReply(_ call: Call, _ outcome: Outcome) -> Bool {
        guard let grace = sync.options?.gapGrace, let written = outcome.written,
            let stream = streams[written.conversation.id], let state = stream.state,
            let replica = stream.replica, replica.isLive, state.position.rev < written.head.rev
        else { return false }
        stream.waits.replies.append(
            HeldReply(
                rev: written.head.rev, deadline: now.adding(grace), call: call, outcome: outcome))
        sync.watch(stream)
        return true
    }

    func releaseHeldReplies(_ stream: Stream) {
        guard !stream.waits.replies.isEmpty else { return }
        let position = stream.state?.position.rev ?? 0
        let isLive = stream.replica?.isLive ?? false
        let due = stream.waits.replies.filter {
            !isLive || $0.rev <= position || $0.deadline <= now
        }
        guard !due.isEmpty else { return }
        // The change is sent first, and pacing may delay it; what was just sent delays nothing.
        let isDraining = connections.isDraining
        if isLive, stream.outgoing.told != position,
            fanout.pacing.rests(stream, isDraining: isDraining, fanout.delivery.sliced)
        {
            return fanout.touch(stream)
        }
        stream.waits.replies.removeAll { !isLive || $0.rev <= position || $0.deadline <= now }
        fanout.flush(stream)
        for held in due {
            reply(held.call, people: held.outcome.people) {
                $0.outcome(held.outcome, of: held.call.request)
            }
        }
    }
}

/// The reply to a write, held until the feed has brought its change.
struct HeldReply {
    let rev: Int
    let deadline: Timestamp
    let call: Call
    let outcome: Outcome
}

extension Call {
    /// The same call with the anchor of this id replaced by a seq.
    func with(id: String, at place: Int) -> Call {
        replacingAnchors { if case .id(let own) = $0, own.isSameID(id) { .seq(place) } else { $0 } }
    }

    /// The same call with its time replaced: it lies just after the message at `place`. An anchor
    /// around a time stays as it is, since no message is there.
    func with(_ moment: Timestamp, behind place: Int) -> Call {
        guard case .fetchMessages(let conversation, var request) = request else { return self }
        if request.before == .time(moment) { request.before = .seq(place + 1) }
        if request.after == .time(moment) { request.after = .seq(place) }
        var call = with(.fetchMessages(conversation: conversation, request))
        if request.around == .time(moment) { call.place = place }
        return call
    }

    private func replacingAnchors(_ replaced: (Anchor) -> Anchor) -> Call {
        guard case .fetchMessages(let conversation, var request) = request else { return self }
        request.before = request.before.map(replaced)
        request.after = request.after.map(replaced)
        request.around = request.around.map(replaced)
        return with(.fetchMessages(conversation: conversation, request))
    }
}

extension RequestError {
    static let noCache = RequestError(.cacheUnwritable, "the cache can't be written")
}
