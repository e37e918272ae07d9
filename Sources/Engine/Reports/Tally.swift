import Wire

/// Counters of the engine, and events that wait to be logged. Shared by the parts of an engine,
/// which report to it.
final class Tally {
    private(set) var figures = Figures()
    private var incidents: [Incident] = []
    private var traced: [TracedCall] = []

    // MARK: - Counting

    func noteRequest() { figures.requests += 1 }

    /// A request is answered with this error.
    func noteFailure(_ error: RequestError) {
        figures.errors[error.code, default: 0] += 1
    }

    func noteClose(_ code: CloseCode) { figures.closes[code, default: 0] += 1 }

    /// A change was taken from the feed.
    func noteChange() { figures.changes += 1 }

    func noteFetch(_ kind: FetchKind) { figures.fetches[kind, default: 0] += 1 }

    /// A subscription's `have` was confirmed.
    func noteResume() { figures.resumes += 1 }

    /// A subscription was answered from memory.
    func noteRemembered() { figures.remembered += 1 }

    /// Subscribers of a conversation are told to discard what they hold.
    func noteReset(_ reason: ResetReason, _ conversation: String, _ subscriptions: Int) {
        figures.resets[reason, default: 0] += subscriptions
        guard incidents.count < Incident.limit else { return }
        incidents.append(
            Incident(conversation: conversation, reason: reason, subscriptions: subscriptions))
    }

    /// The request ended. Ignored for a session without a `traceparent`.
    /// - Parameter error: nil if it succeeded.
    func noteEnd(
        of request: @autoclosure () -> Request.Outline?, _ session: Session,
        _ error: RequestError? = nil
    ) {
        guard !session.trace.isEmpty, traced.count < TracedCall.limit, let request = request()
        else { return }
        traced.append(TracedCall(request, of: session, error))
    }

    // MARK: - For the log

    /// The incidents since the last call.
    func takeIncidents() -> [Incident] {
        guard !incidents.isEmpty else { return [] }
        defer { incidents = [] }
        return incidents
    }

    /// The calls that ended since the last call: refused or failed requests, and writes.
    func takeTracedCalls() -> [TracedCall] {
        guard !traced.isEmpty else { return [] }
        defer { traced = [] }
        return traced
    }
}
