@testable import Configuration
@testable import Gateway
import Testing

/// What repeats does not fill the log, and is not lost from it either.
@Suite struct LogLimitTests {
    @Test func eachEventHasItsLinesAMinute() {
        let limit = LogLimit(lowest: .info)
        let lines = LogLimit.linesPerMinute
        let admitted = (0..<lines * 3).filter { _ in limit.admits(.error, "a") }.count
        #expect(admitted == lines)
        // Another event, and the same one at another level, are not in its way.
        #expect(limit.admits(.error, "b") && limit.admits(.info, "a"))
        let suppressed = limit.endMinute()
        #expect(suppressed.map(\.count) == [lines * 2])
        #expect(suppressed.map(\.line) == [LogLimit.Line(level: .error, event: "a")])
        #expect(limit.admits(.error, "a"))
        #expect(limit.endMinute().isEmpty)
        #expect(limit.figures.written == [.error: lines + 2, .info: 1])
        #expect(limit.figures.suppressed == lines * 2)
    }

    @Test func aReloadedLevelIsThatOfEveryCopy() {
        let first = Logger(Configuration.Log())
        let copy = first
        #expect(!first.limit.admits(.debug, "a"))
        copy.adopt(.debug)
        #expect(first.limit.admits(.debug, "a"))
        copy.adopt(.error)
        #expect(!first.limit.admits(.warning, "a"))
        // What is not wanted is not suppressed.
        #expect(first.limit.figures.suppressed == 0)
        var isShown = false
        first.showing(.info, or: .error) { isShown = first.limit.admits(.info, "b") }
        #expect(isShown && !first.limit.admits(.info, "b"))
    }
}
