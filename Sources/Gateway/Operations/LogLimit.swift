import Configuration
import Synchronization

/// Which lines are written: those of the levels that are asked for, and of one event that happens
/// again and again so many in a minute; the rest is counted and told in one line when the minute is
/// over, so that it does not fill the disk. Shared by all copies of a `Logger`; any thread.
///
/// Events are words of this program, so there is a handful of entries, never one for what a client
/// sent.
final class LogLimit: Sendable {
    typealias Level = Configuration.Log.Level

    /// One kind of line.
    struct Line: Sendable, Hashable {
        let level: Level
        let event: String
    }

    /// How many of a kind a minute; a reload that changes every key still fits.
    static let linesPerMinute = 100

    private struct State {
        var lowest: Level
        var thisMinute: [Line: Int] = [:]
        var written: [Level: Int] = [:]
        var suppressed = 0
    }

    private let state: Mutex<State>

    /// - Parameter lowest: the least important lines to be written.
    init(lowest: Level) { state = Mutex(State(lowest: lowest)) }

    static func rank(_ level: Level) -> Int { Level.allCases.firstIndex(of: level) ?? 0 }

    /// The least important lines to be written.
    var lowest: Level {
        get { state.withLock(\.lowest) }
        set { state.withLock { $0.lowest = newValue } }
    }

    /// Counts a line.
    /// - Returns: whether it is to be written.
    func admits(_ level: Level, _ event: String) -> Bool {
        state.withLock { state in
            guard Self.rank(level) >= Self.rank(state.lowest) else { return false }
            let count = state.thisMinute[Line(level: level, event: event), default: 0] + 1
            state.thisMinute[Line(level: level, event: event)] = count
            guard count <= Self.linesPerMinute else {
                state.suppressed += 1
                return false
            }
            state.written[level, default: 0] += 1
            return true
        }
    }

    /// Begins the next minute.
    /// - Returns: how many of which lines were not written in the last one.
    func endMinute() -> [(line: Line, count: Int)] {
        let lines = state.withLock { state in
            defer { state.thisMinute.removeAll(keepingCapacity: true) }
            return state.thisMinute
        }
        return lines.filter { $0.value > Self.linesPerMinute }
            .map { ($0.key, $0.value - Self.linesPerMinute) }
            .sorted { ($0.0.event, $0.0.level.rawValue) < ($1.0.event, $1.0.level.rawValue) }
    }

    /// Lines written since the start, by level, and lines left out.
    var figures: (written: [Level: Int], suppressed: Int) {
        state.withLock { ($0.written, $0.suppressed) }
    }
}
