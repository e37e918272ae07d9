import Chat
import JSON
import Ports
import Wire

/// Turns answers at a stream's position into replies.
extension RequestDesk {
    /// The store answered `findBoundaries`, asked as of this head.
    func answered(
        _ token: UInt64, _ call: Call, askedAt head: Head, _ result: Result<Answer, RequestError>
    ) {
        switch result {
        case .failure(let error): failed(token, call, error)
        case .success(.ids(let ids)): concludeBoundaries(call, ids, askedAt: head)
        case .success: fail(call, .misled)
        }
    }

    private func concludeBoundaries(_ call: Call, _ ids: [Int: String], askedAt head: Head) {
        guard case .findBoundaries(let conversation, let have) = call.request,
            let (stream, state) = admit(call, conversation)
        else { return }
        guard state.head.epoch == head.epoch, state.head.seq == head.seq else {
            // The ends have changed since.
            return findBoundaries(call.overtaken, conversation, have)
        }
        let held = boundariesAsked(have, stream, state)
        let all = Coverage.closed(max(1, state.head.floor), state.head.seq)
        let missing =
            have == nil && stream.replica == nil
            ? Coverage()
            : held.union(above(held, in: all)).holes
                .union(above(held, in: all))
        let gaps = missing.runs.map {
            Gap(
                after: $0.low - 1, before: $0.high + 1, missing: $0.count, cause: .cold, since: now)
        }
        reply(call) {
            $0.beginObject()
            $0.key("boundaries")
            $0.boundaries(held, ids)
            $0.key("gaps")
            $0.gaps(gaps)
            $0.key("head")
            $0.head(state.head)
            $0.endObject()
        }
    }

    /// The part of `all` above the highest seq held.
    private func above(_ held: Coverage, in all: Coverage) -> Coverage {
        guard let last = all.last else { return Coverage() }
        return Coverage.closed(max((held.last ?? 0) + 1, all.first ?? 1), last)
    }

    /// Concludes a call with an answer at the stream's position.
    func conclude(_ call: Call, _ answer: Answer, _ stream: Stream, _ state: Stream.State) {
        // Another log has this name since it was found whether the log has what the caller names.
        guard call.reach.atLeast == nil || call.reach.epoch == state.head.epoch else {
            return perform(call)
        }
        switch (call.request, answer) {
        case (.subscribeMessages, .page(var page)):
            // The log may have trimmed some of it meanwhile.
            page.messages.removeAll { $0.seq < state.head.floor }
            let isReset = call.isConfirmed == false
            var position = position(of: call, stream, state)
            // The cache may have trimmed some of it meanwhile.
            position.held = position.held?.intersection(
                Coverage(places: page.messages.map(\.seq)))
            let resume = Resume(
                latest: page.messages, position: position, bytes: limits.replyBytes,
                isReset: isReset, limit: call.request.limit)
            // The oldest is where the holder's run will begin when it comes back.
            if let oldest = page.messages.last { stream.recent.learn([oldest.seq: oldest.id]) }
            begin(call, resume, stream, state, ids: [:])
        case (.subscribeMessages(_, let have?, _), .catchUp(let read)):
            var read = read
            var position = position(of: call, stream, state)
            position.head.seq = max(position.head.seq, read.head.seq)
            // The log may have trimmed some of it meanwhile.
            read.changed.removeAll { $0.seq < state.head.floor }
            read.tail.removeAll { $0.seq < state.head.floor }
            if let replica = stream.replica, have.asOf < replica.copy.changesFrom {
                // The changes in between are not known here.
                read.outdated = have.runs.subtracting(Coverage(places: read.changed.map(\.seq)))
            }
            stream.recent.learn(read.ids)
            let resume = read.resume(have, position: position, bytes: limits.replyBytes)
            begin(call, resume, stream, state, ids: read.ids)
        case (.fetchMessages(_, let request), .page(var page)):
            let position = position(of: call, stream, state)
            if let replica = stream.replica {
                // The cache may have trimmed some of it since the question, and has messages beyond
                // what it holds as of the position.
                let range = request.range(
                    floor: state.head.floor, newest: state.head.seq, call.place)
                guard range.subtracting(replica.copy.held).isEmpty else { return perform(call) }
                page.messages.removeAll { !range.contains($0.seq) }
                page = page.settled(
                    floor: state.head.floor, newest: state.head.seq, request, call.place)
            }
            if position.isOpen { stream.outgoing.noteOpen() }
            if call.reach.isRefuted { endSubscription(of: call, stream, state) }
            journal?.paged(connections[call.session], stream.id, page.messages, at: now)
            let size = page.messages.reduce(1024) { $0 + $1.json.count + 1 }
            let reachesBelow = request.reaches(
                below: state.head.floor, newest: state.head.seq, call.place)
            reply(call, size: size, rows: page.messages.count) {
                $0.page(
                    page, position, reachesBelow: reachesBelow, isReset: call.reach.isRefuted)
            }
        default:
            fail(call, .misled)
        }
    }

    /// The subscription begins with this reply.
    private func begin(
        _ call: Call, _ resume: Resume, _ stream: Stream, _ state: Stream.State, ids: [Int: String]
    ) {
        // Room for everything that may be long, so that the buffer does not grow.
        let room =
            resume.deltas.reduce(0) { $0 + $1.message.json.count + 64 }
            + (resume.boundaries?.count ?? 128 * resume.held.runs.count)
            + 24 * resume.covers.runs.count + 112 * resume.gaps.count + 4096
        var json = JSONWriter(capacity: room)
        json.resume(resume, position(of: call, stream, state), state.record, ids)
        var answer = EncodedResumes.Answer(
            json: json.bytes, owed: resume.owed, isReset: resume.isReset,
            rows: resume.deltas.count)
        if journal != nil { answer.note(resume) }
        if call.reach.isPlain, !stream.isOpen, resume.owed.isEmpty,
            case .subscribeMessages(_, let have, let limit) = call.request
        {
            stream.encoded.keep(answer, to: .init(have: have, limit: limit), at: state)
        }
        begin(call, answer, stream, state)
    }

    /// The subscription begins with this reply.
    func begin(
        _ call: Call, _ answer: EncodedResumes.Answer, _ stream: Stream, _ state: Stream.State
    ) {
        // A closing session has left its streams; nobody would take it out again.
        guard let session = connections[call.session], !session.isClosing else { return }
        if session.subscription(to: stream) == nil {
            // Subscriptions asked for together with this one may have come first.
            guard session.subscriptions.count < limits.subscriptions else {
                return fail(call, tooManySubscriptions)
            }
            stream.add(session, since: journal?.next ?? 0)
        }
        if case .subscribeMessages(_, let have?, _) = call.request {
            if answer.isReset {
                tally.noteReset(stream.reason(toReset: have, state), stream.id, 1)
            } else {
                tally.noteResume()
            }
        }
        journal?.subscribed(session, answer, call.request.have, stream, at: now)
        stream.owe(answer.owed, to: session)
        if stream.isOpen || call.reach.isShort { stream.outgoing.noteOpen() }
        if stream.replica != nil {
            sync.watch(stream)
            sync.fetcher.drive(stream)
        }
        reply(call, size: answer.json.count + 64, rows: answer.rows) { $0.raw(answer.json) }
    }
}

extension RequestError {
    /// An answer of the wrong kind: a fault of this program, which costs this request and not the
    /// process.
    package static let misled = RequestError(
        .internalFault, "the answer does not belong to the request")
}
