import Configuration

/// Shows on standard error how far a replay is: on a terminal one line that is overwritten,
/// otherwise a line a second. Lives on the command's thread.
final class ReplayProgress {
    private static let interval: Milliseconds = 1000

    private let console: Console
    private let interval: Milliseconds
    private var conversation = ""
    private var total = 0
    private var done = 0
    private var start: Milliseconds = 0
    private var lastLine: Milliseconds = 0
    /// The number that was shown last.
    private var shown = -1
    /// Messages of finished files.
    private(set) var finished = 0
    /// Finished files.
    private(set) var files = 0

    init(console: Console) {
        self.console = console
        interval = console.isTerminal ? 100 : Self.interval
    }

    /// A conversation of `total` messages begins.
    func begin(_ conversation: String, of total: Int, at now: Milliseconds) {
        self.conversation = conversation
        self.total = total
        done = 0
        shown = -1
        start = now
        lastLine = now
    }

    /// `done` of its messages are posted.
    func advance(to done: Int, at now: Milliseconds) {
        self.done = done
        guard now - lastLine >= interval else { return }
        lastLine = now
        show(now)
    }

    /// All its messages are posted.
    func end(at now: Milliseconds) {
        finished += done
        files += 1
        if shown != done { show(now) }
        if console.isTerminal { console.complain("\n") }
    }

    private func show(_ now: Milliseconds) {
        shown = done
        let line =
            "replay \(conversation): \(done) of \(total) messages"
            + Self.rate(done, since: start, at: now)
        // Return to the first column, and erase what is left of a longer line.
        console.complain(console.isTerminal ? "\r\(line)\u{1B}[K" : line + "\n")
    }

    /// `, 350/s`, if there was any time.
    static func rate(_ count: Int, since start: Milliseconds, at now: Milliseconds) -> String {
        now > start ? ", \(Int64(count) * 1000 / (now - start))/s" : ""
    }
}
