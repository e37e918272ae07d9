import Dispatch
import Ports
import Synchronization

/// Notices from outside of the loop that it stands still, as it does where a file system is frozen
/// under its feet: then neither health nor metrics answer, and only the log can say why.
final class LoopWatch: Sendable {
    private struct State {
        var lastBeat = ContinuousClock.now
        var toldAt: ContinuousClock.Instant?
    }

    /// What is to be said.
    enum News: Equatable {
        case stands(seconds: Int)
        /// It goes on, after so many seconds.
        case goesOn(seconds: Int)
    }

    /// How long the loop may stand still before it is said, and after which time again.
    static let patience = Duration.seconds(5)
    private static let interval = Duration.seconds(60)

    private let queue = DispatchQueue(label: "gapless.watch")
    private let state = Mutex(State())
    private let log: Logger

    init(_ log: Logger) { self.log = log }

    /// Looks every second, until it is let go of.
    func begin() {
        beat(at: .now)
        goOn()
    }

    private func goOn() {
        queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in
            guard let self else { return }
            if let news = look(at: .now) { say(news) }
            goOn()
        }
    }

    /// The loop runs. Called on it, several times a second.
    func beat(at now: ContinuousClock.Instant = .now) {
        let stood = state.withLock { state in
            defer { (state.lastBeat, state.toldAt) = (now, nil) }
            return state.toldAt.map { _ in now - state.lastBeat }
        }
        if let stood { say(.goesOn(seconds: Int(stood / .seconds(1)))) }
    }

    /// - Returns: what is to be said now.
    func look(at now: ContinuousClock.Instant) -> News? {
        state.withLock { state in
            let time = now - state.lastBeat
            guard time >= Self.patience else { return nil }
            if let toldAt = state.toldAt, now - toldAt < Self.interval { return nil }
            state.toldAt = now
            return .stands(seconds: Int(time / .seconds(1)))
        }
    }

    private func say(_ news: News) {
        switch news {
        case .stands(let seconds):
            log.say(.loopStalled, ["for_s": "\(seconds)"])
        case .goesOn(let seconds): log.say(.loopResumed, ["stood_s": "\(seconds)"])
        }
    }
}
