import Ports
import Testing

@testable import Upstream

/// What is wrong with an upstream, as the log has it: once, and every minute while it lasts.
@Suite struct TroublesTests {
    private let start = ContinuousClock.now
    private let refused = UpstreamNotice(.originRefuses, "refused")
    private let closed = UpstreamNotice(.originUnreachable, "closed")

    @Test func aTroubleThatLastsIsToldEveryMinuteWithItsCount() {
        let troubles = Troubles()
        #expect(troubles.line("feed", refused, at: start) == refused)
        for second in 1..<60 {
            #expect(troubles.line("feed", refused, at: start + .seconds(second)) == nil)
        }
        #expect(
            troubles.line("feed", refused, at: start + .seconds(60))
                == UpstreamNotice(
                    .originRefuses, "refused (still so, 60 times since it was last told)"))
        #expect(troubles.line("feed", refused, at: start + .seconds(119)) == nil)
        #expect(
            troubles.line("feed", refused, at: start + .seconds(120))
                == UpstreamNotice(
                    .originRefuses, "refused (still so, 2 times since it was last told)"))
        #expect(troubles.first == refused)
    }

    @Test func anotherTroubleAndOneThatComesBackAreNews() {
        let troubles = Troubles()
        #expect(troubles.line("feed", refused, at: start) == refused)
        #expect(troubles.line("feed", closed, at: start) == closed)
        #expect(troubles.line("writes", closed, at: start) == closed)
        #expect(troubles.isOver("feed") && !troubles.isOver("feed"))
        #expect(troubles.line("feed", closed, at: start) == closed)
    }

    @Test func aRefusalHasTheServersWordsAndACode() {
        let full = RedisReply.error("OOM command not allowed when used memory > 'maxmemory'.")
        #expect(
            full.refusal
                == "refused (OOM): command not allowed when used memory > 'maxmemory'.")
        #expect(full.event == .originOutOfMemory)
        #expect(RedisReply.error("ODD").refusal == "refused (ODD)")
        #expect(RedisReply.error("ODD").event == .originRefuses)
        #expect(RedisReply.text(Array("OK".utf8)).refusal == nil)
    }
}
