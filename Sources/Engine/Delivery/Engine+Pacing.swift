import Ports
import Wire

/// When conversations speak, as the shell and the rest of the engine see it; `Pacing` decides.
extension Engine {
    /// The sockets were written at the end of a turn: the conversations with more to say than that
    /// rest for as long as it took them.
    /// - Parameters:
    ///   - sessions: how many sessions were written.
    ///   - time: what that took.
    ///   - instant: when it ended, on the clock of `endTurn`.
    package func wrote(_ sessions: Int, in time: Duration, at instant: Duration) {
        fanout.pacing.wrote(sessions, in: time, at: instant)
    }

    /// When a turn is due though nothing has come in, on the clock of `endTurn`: some conversation
    /// has rested then. Nil if none waits.
    package var nextRelease: Duration? { fanout.pacing.nextRelease }

    /// Whether the conversation has something to say, and rests.
    package func keepsBack(_ conversation: String) -> Bool {
        streams[conversation.id]?.pace.isHeld ?? false
    }

    /// Whether what the stream has to say waits.
    func rests(_ stream: Stream) -> Bool { fanout.pacing.rests(stream, isDraining: isDraining) }

    /// The operation is on its way to the log, until `noteSent` is called with the same token.
    /// Those of its own calls the engine knows; this is for others'.
    package func noteSend(
        _ operation: Operation, token: UInt64, from session: SessionID = 0, trace: String = ""
    ) {
        desk.noteSend(operation, token: token, from: session, trace: trace)
    }

    /// The operation was done, or refused.
    package func noteSent(token: UInt64, _ result: Result<Outcome, RequestError>) {
        journal?.answered(token, result, at: now)
        fanout.pacing.noteSent(token: token)
    }
}
