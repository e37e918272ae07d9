import Engine
import Ports
import Upstream
import Wire

/// What the engine and the server API ask of the upstream: gathered in a turn and handed over at
/// its end. Calls of the server API wait here for their results, by token. Lives on the loop.
final class OriginCalls {
    /// Tokens of the server API begin here; those of the engine are below.
    private static let firstToken: UInt64 = 1 << 63

    let upstream: any Upstream
    private let inbox: UpstreamInbox
    private let turns: TurnRunner
    private let instruments: Instruments
    /// Calls of this turn that were not handed to the upstream yet.
    private var calls: [UpstreamCall] = []
    private var nextToken = OriginCalls.firstToken
    /// Calls of the server API that wait for the upstream, by token.
    private var waiting: [UInt64: WaitingCall] = [:]

    init(
        _ upstream: any Upstream, _ inbox: UpstreamInbox, _ turns: TurnRunner,
        _ instruments: Instruments
    ) {
        self.upstream = upstream
        self.inbox = inbox
        self.turns = turns
        self.instruments = instruments
    }

    /// Hands over the calls that this turn has made so far.
    func handOver() {
        guard !calls.isEmpty else { return }
        upstream.submit(calls)
        calls.removeAll(keepingCapacity: true)
    }

    /// Hands over the calls to an upstream that may answer them within the call.
    /// - Returns: its answers so far.
    func askAtOnce() -> [UpstreamOutput] {
        guard upstream.answersWithinCall, !calls.isEmpty else { return [] }
        return inbox.gather { handOver() }
    }

    /// Queues a call for the upstream.
    func append(_ call: UpstreamCall) {
        switch call {
        case .perform(_, _, let token):
            instruments.measurements.submitted(token)
            turns.noteOperation()
        case .ask(_, let token): instruments.measurements.asked(token)
        case .forkEpoch(_, let conversation, _):
            instruments.log.say(.originLostChanges, ["conversation": conversation])
        case .subscribe, .unsubscribe, .subscribeList, .unsubscribeList, .publish, .disconnect,
            .presence:
            break
        }
        calls.append(call)
    }

    // MARK: - The server API

    /// Registers a call of the server API.
    /// - Returns: its token.
    func wait(_ call: WaitingCall) -> UInt64 {
        nextToken += 1
        waiting[nextToken] = call
        return nextToken
    }

    /// Asks the upstream's history for a call of the server API.
    func ask(_ query: HistoryQuery, for call: WaitingCall) {
        append(.ask(query, token: wait(call)))
    }

    /// Takes the call that waits under the token; nil if the engine asked.
    func finish(_ token: UInt64) -> WaitingCall? { waiting.removeValue(forKey: token) }
}
