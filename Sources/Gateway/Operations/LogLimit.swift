import Configuration
import Ports
import Synchronization

/// Rate limit of the log: lines below the level are dropped, and lines of one event beyond so many
/// in a minute are counted and summarized in one line at its end, so that they don't fill the disk.
/// Shared by all copies of a `Logger`; from any thread.
final class LogLimit: Sendable {
    typealias Level = Configuration.Log.Level

    /// The most lines of an event in a minute; a reload that changes every key still fits.
    static let linesPerMinute = 100

    private struct State {
        var lowest: Level
        var thisMinute: [LogEvent: Int] = [:]
        var written: [Level: Int] = [:]
        var suppressed = 0
    }

    private let state: Mutex<State>

    /// - Parameter lowest: the lowest level that is written.
    init(lowest: Level) { state = Mutex(State(lowest: lowest)) }

    static func rank(_ level: Level) -> Int { Level.allCases.firstIndex(of: level) ?? 0 }

    /// The lowest level that is written.
    var lowest: Level {
        get { state.withLock(\.lowest) }
        set { state.withLock { $0.lowest = newValue } }
    }

    /// Counts a line.
    /// - Returns: whether it is to be written.
    func admits(_ event: LogEvent) -> Bool {
        let level = event.row.level
        return state.withLock { state in
            guard Self.rank(level) >= Self.rank(state.lowest) else { return false }
            let count = state.thisMinute[event, default: 0] + 1
            state.thisMinute[event] = count
            guard count <= Self.linesPerMinute else {
                state.suppressed += 1
                return false
            }
            state.written[level, default: 0] += 1
            return true
        }
    }

    /// Begins the next minute.
    /// - Returns: the lines that were dropped in the last one, with counts.
    func endMinute() -> [(event: LogEvent, count: Int)] {
        let events = state.withLock { state in
            defer { state.thisMinute.removeAll(keepingCapacity: true) }
            return state.thisMinute
        }
        return events.filter { $0.value > Self.linesPerMinute }
            .map { ($0.key, $0.value - Self.linesPerMinute) }
            .sorted { $0.0.rawValue < $1.0.rawValue }
    }

    /// Lines written since the start, by level, and lines dropped by the limit.
    var figures: (written: [Level: Int], suppressed: Int) {
        state.withLock { ($0.written, $0.suppressed) }
    }
}
