@testable import Configuration
@testable import Gateway
import Ports
import Testing

/// What repeats does not fill the log, and is not lost from it either.
@Suite struct LogLimitTests {
    @Test func eachEventHasItsLinesAMinute() {
        let limit = LogLimit(lowest: .info)
        let lines = LogLimit.linesPerMinute
        let admitted = (0..<lines * 3).filter { _ in limit.admits(.startFailed) }.count
        #expect(admitted == lines)
        // Another event is not in its way.
        #expect(limit.admits(.reloadFailed) && limit.admits(.stopped))
        let suppressed = limit.endMinute()
        #expect(suppressed.map(\.count) == [lines * 2])
        #expect(suppressed.map(\.event) == [.startFailed])
        #expect(limit.admits(.startFailed))
        #expect(limit.endMinute().isEmpty)
        #expect(limit.figures.written == [.error: lines + 2, .info: 1])
        #expect(limit.figures.suppressed == lines * 2)
    }

    @Test func aReloadedLevelIsThatOfEveryCopy() {
        let first = Logger(Configuration.Log())
        let copy = first
        #expect(!first.limit.admits(.requestReceived))
        copy.adopt(.debug)
        #expect(first.limit.admits(.requestReceived))
        copy.adopt(.error)
        #expect(!first.limit.admits(.clockJumped))
        // What is not wanted is not suppressed.
        #expect(first.limit.figures.suppressed == 0)
        var isShown = false
        first.showing(.info, or: .error) { isShown = first.limit.admits(.stopped) }
        #expect(isShown && !first.limit.admits(.stopped))
    }
}
