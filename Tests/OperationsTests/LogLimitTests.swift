@testable import Gateway
import Testing

/// What repeats does not fill the log, and is not lost from it either.
@Suite struct LogLimitTests {
    @Test func eachEventHasItsLinesAMinute() {
        let limit = LogLimit()
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

    @Test func aReloadedLogStandsUnderTheSameLimit() {
        let first = Log(Configuration.Log(), limit: LogLimit())
        #expect(Log(Configuration.Log(), limit: first.limit).limit === first.limit)
    }
}
