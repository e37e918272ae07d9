import Wire

/// Who does not take what it was sent is not answered any further. Replies can't be shed, and a
/// client may ask for any number of them: past the soft limit its requests wait until it has read,
/// and with them, since its socket is not read either, whatever else it has to say. So no request,
/// however large its answer, brings a client over the hard limit; only events can. This is the
/// backpressure on a client that asks and does not read.
extension Engine {
    /// More waits for the session than it is to have waiting.
    func isOverfull(_ session: Session) -> Bool { connections.isOverfull(session) }

    /// Whether somebody waits for what was asked under this token.
    package func isAwaited(_ token: UInt64) -> Bool { questions[token] != nil }

    /// Concludes a read, if that needs no look at the cache.
    /// - Returns: whether it has.
    package func concludeWithoutReading(_ token: UInt64) -> Bool {
        let isConcluded = desk.concludeWithoutReading(token)
        takeSteps()
        return isConcluded
    }

    /// Whether the question may be answered at another moment than the others, while the feed goes
    /// on.
    package func mayReadSlow(_ token: UInt64) -> Bool { desk.mayReadSlow(token) }

    /// Whether there is something to do in the next turn that came in before: requests that were
    /// put off and can go on, sessions that are to be looked at, queues that are to be shed.
    package var hasMore: Bool { sessions.isBehind || fanout.delivery.hasMore }

    /// Takes up the requests that were put off.
    func resumeDeferred() {
        for session in fanout.delivery.takeResumable() { resumeDeferred(session) }
    }

    private func resumeDeferred(_ session: Session) {
        let postponed = session.postponed
        session.postponed = []
        var next = postponed.startIndex
        while next < postponed.endIndex, !session.isClosing, !isOverfull(session) {
            switch postponed[next] {
            case .frame(let frame): take(frame, session)
            case .call(let call):
                desk.perform(call)
                takeSteps()
            }
            next += 1
        }
        guard !session.isClosing else { return }
        session.postponed = Array(postponed[next...]) + session.postponed
    }
}

/// A request that waits for its session to take what it was sent.
enum Postponed {
    /// As it came.
    case frame(RequestFrame)
    /// Taken, and to be asked for again.
    case call(Call)
}
