import Ports
import Wire

/// Properties of a read that the runner knows before it begins.
extension TurnRunner {
    /// Whether it runs beside the turns.
    func isSlow(_ read: Turn.Read) -> Bool {
        guard read.query.isLong, engine.mayReadSlow(read.token) else { return false }
        // Most conversations have a few participants.
        guard case .participants(let conversation, let range) = read.query, range.limit <= 0,
            let state = engine.streams[conversation.id]?.state
        else { return true }
        return state.members.count > Self.manyMembers
    }

    private static let manyMembers = 200

    /// The payer of the answer, and the read's cost as far as it is known beforehand.
    func payer(of read: Turn.Read) -> (Payer, cost: Int) {
        let purpose = engine.questions[read.token]
        if case .unread(let user, _) = purpose { return (Payer(user: user), 1) }
        if case .unreadIn(_, let user) = purpose { return (Payer(user: user), 1) }
        guard let call = purpose?.asking(in: engine.streams),
            let session = engine.connections[call.session], let user = session.user
        else { return (.gateway, 1) }
        return (Payer(user: user.id, session: session.id), call.readCost)
    }
}

extension Questions.Purpose {
    /// The call that it is for, or the first call that waits for the stream.
    fileprivate func asking(in streams: StreamRegistry) -> Call? {
        switch self {
        case .reach(let call), .answer(let call), .boundaries(let call, _), .shown(let call),
            .place(let call, _, _):
            call
        case .load(let conversation), .refresh(let conversation):
            streams[conversation.id]?.waits.calls.first
        case .reload(let stream, _): stream.waits.calls.first
        case .proof(let subject, _): subject.stream.waits.calls.first
        case .write, .asked, .store, .fetch, .unread, .unreadIn, .room, .presence: nil
        }
    }
}

extension Call {
    /// The estimated cost of its read.
    var readCost: Int { max(request.cost, 1 + request.weight) }
}
