import Glibc
import Testing

@testable import Configuration
@testable import Gateway

/// Nobody waits for the log's reader, and the reader never gets half a line.
@Suite struct LogSinkTests {
    @Test func aReaderThatStandsStillHoldsUpNobody() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        defer { close(reading) }
        let resize: Int32 = 1031  // F_SETPIPE_SZ
        _ = fcntl(writing, resize, 4096)
        let sink = LogSink(writing)
        let line = Array((String(repeating: "x", count: 999) + "\n").utf8)
        let count = 3 * LogSink.limit / line.count
        let took = ContinuousClock().measure { for _ in 0..<count { sink.put(line) } }
        #expect(took < .seconds(5))
        let dropped = sink.dropped
        #expect(dropped > count / 2 && dropped < count)
        #expect(sink.takeDropped() == dropped && sink.takeDropped() == 0)
        // The end of the process does not wait for it either.
        #expect(ContinuousClock().measure { sink.flush() } < .seconds(5))
        var read: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while read.count < (count - dropped) * line.count {
            let got = Glibc.read(reading, &buffer, buffer.count)
            try #require(got > 0)
            read += buffer[..<got]
        }
        let lines = read.split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == count - dropped && lines.allSatisfy { $0.count == 999 })
        // There is room again.
        sink.put(line)
        #expect(Glibc.read(reading, &buffer, buffer.count) == line.count)
        #expect(sink.dropped == dropped)
        close(writing)
    }

    @Test func aLoopThatStandsStillIsToldNowAndThen() {
        let watch = LoopWatch(Logger(Configuration.Log()))
        let start = ContinuousClock.now
        watch.beat(at: start)
        #expect(watch.look(at: start + .seconds(4)) == nil)
        #expect(watch.look(at: start + .seconds(6)) == .stands(seconds: 6))
        #expect(watch.look(at: start + .seconds(7)) == nil)
        #expect(watch.look(at: start + .seconds(66)) == .stands(seconds: 66))
        watch.beat(at: start + .seconds(70))
        #expect(watch.look(at: start + .seconds(71)) == nil)
    }
}
