import Glibc
import Synchronization
import TestSupport

/// Puts questions to one gateway's internal listener on a thread of its own, one after the other.
/// Its callers do not wait, since a gateway asks its origin first, which may be away.
final class Asker: Sendable {
    private struct State {
        var jobs: [(number: Int, path: String)] = []
        var answers: [(number: Int, json: JSONValue?)] = []
    }

    private let state: Shared
    private let thread: Background<Void>

    /// Outlives the asker, for as long as its thread does.
    private final class Shared: Sendable {
        let value = Mutex(State())
    }

    init(_ port: Int) {
        let state = Shared()
        self.state = state
        thread = Background { stop in
            let connection = HTTPConnection(port: port)
            while !stop.isOver {
                guard let job = state.value.withLock({ $0.jobs.first }) else {
                    usleep(5000)
                    continue
                }
                let reply = try? connection.send("GET", job.path, deadline: .after(.seconds(10)))
                let json = reply.flatMap { $0.status == 200 ? $0.json : nil }
                state.value.withLock {
                    $0.jobs.removeFirst()
                    $0.answers.append((job.number, json))
                }
            }
        }
    }

    deinit { thread.end() }

    func ask(_ number: Int, _ path: String) {
        state.value.withLock { $0.jobs.append((number, path)) }
    }

    /// What was answered since the last call; nil where nobody answered.
    func takeAnswers() -> [(number: Int, json: JSONValue?)] {
        state.value.withLock { state in
            defer { state.answers = [] }
            return state.answers
        }
    }
}
