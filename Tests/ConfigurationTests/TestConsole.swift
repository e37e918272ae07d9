import Chat
import Commands
import Configuration
import Synchronization

/// A console whose output is kept and whose clock moves only when somebody sleeps.
final class TestConsole: Sendable {
    private struct State {
        var output = ""
        var complaints = ""
        var uptime: Milliseconds = 1000
        var sleeps: [Milliseconds] = []
    }

    private let state = Mutex(State())
    private let environment: [String: String]
    private let isTerminal: Bool

    init(environment: [String: String] = [:], isTerminal: Bool = false) {
        self.environment = environment
        self.isTerminal = isTerminal
    }

    /// What was written to standard output and standard error.
    var output: String { state.withLock { $0.output } }
    var complaints: String { state.withLock { $0.complaints } }
    /// Each sleep, in order.
    var sleeps: [Milliseconds] { state.withLock { $0.sleeps } }
    var uptime: Milliseconds { state.withLock { $0.uptime } }

    /// Lets time pass.
    func pass(_ duration: Milliseconds) { state.withLock { $0.uptime += duration } }

    var console: Console {
        Console(
            environment: environment,
            write: { text in self.state.withLock { $0.output += text } },
            complain: { text in self.state.withLock { $0.complaints += text } },
            isTerminal: isTerminal,
            now: { Timestamp(milliseconds: 1_800_000_000_000) },
            uptime: { self.uptime },
            sleep: { duration in
                self.state.withLock {
                    $0.uptime += duration
                    $0.sleeps.append(duration)
                }
            })
    }

    /// Runs a command line.
    func run(_ arguments: String...) -> Int32 { Program.run(arguments, console: console) }
}
