import Chat
import Ports
import Testing

@testable import Gateway

/// When a file that can't be written, and can now and then, counts as lost.
@Suite struct CacheReadinessTests {
    /// The events about a file whose writes succeed or fail, one every 100 ms, and whether it
    /// counts as lost after each.
    private func told(
        _ moments: [(isGood: Bool, milliseconds: Int)]
    ) -> (news: [CacheReadiness.News], lost: [Bool]) {
        var cache = CacheReadiness()
        var news: [CacheReadiness.News] = []
        var lost: [Bool] = []
        var now = Timestamp(milliseconds: 1_700_000_000_000)
        for moment in moments {
            for _ in 0..<moment.milliseconds / 100 {
                if moment.isGood {
                    cache.succeed(at: now)
                } else {
                    cache.fail("disk full", at: now)
                }
                if let new = cache.look(at: now) { news.append(new) }
                lost.append(cache.isLost)
                now.milliseconds += 100
            }
        }
        return (news, lost)
    }

    @Test func itIsLostAtOnceAndBackAfterTwoSoundSeconds() {
        let told = told([(true, 1000), (false, 1000), (true, 5000)])
        #expect(told.news == [.lost(seconds: 0), .back])
        #expect(told.lost.firstIndex(of: true) == 10)
        #expect(told.lost.lastIndex(of: true) == 39)
    }

    @Test func whatSucceedsNowAndThenIsToldOnce() {
        let flaps = (0..<25).flatMap { _ in [(false, 300), (true, 1900)] }
        let told = told(flaps + [(true, 3000)])
        #expect(told.news == [.lost(seconds: 0), .back])
        #expect(zip(told.lost, told.lost.dropFirst()).count { $0 != $1 } == 1)
    }

    @Test func whatLastsIsToldEveryMinute() {
        let told = told([(false, 150_000), (true, 3000)])
        #expect(
            told.news
                == [.lost(seconds: 0), .lost(seconds: 60), .lost(seconds: 120), .back])
    }

    @Test func anOutageAfterAnotherIsToldAgain() {
        let told = told([(false, 100), (true, 3000), (false, 100), (true, 3000)])
        #expect(told.news == [.lost(seconds: 0), .back, .lost(seconds: 0), .back])
    }

    /// A disk that hangs returns no error.
    @Test func aWriteThatWaitsForLongIsLostUntilTheDiskIsPrompt() {
        var cache = CacheReadiness()
        func look(_ wait: Duration?, at second: Int64) -> CacheReadiness.News? {
            let now = Timestamp(milliseconds: 1_700_000_000_000 + second * 1000)
            cache.waited(wait, at: now)
            return cache.look(at: now)
        }
        #expect(look(.seconds(4), at: 4) == nil && !cache.isLost)
        #expect(look(.seconds(5), at: 5) == .lost(seconds: 0) && cache.isLost && cache.isHung)
        #expect(cache.failure.contains("5 s") && cache.event == .cacheUnwritable)
        #expect(look(.seconds(65), at: 65) == .lost(seconds: 60))
        // It answers, and hangs again before two seconds have passed.
        #expect(look(nil, at: 66) == nil && !cache.isHung)
        #expect(look(.seconds(1), at: 67) == nil && cache.isHung)
        #expect(look(nil, at: 69) == nil && look(nil, at: 70) == nil && cache.isLost)
        #expect(look(.milliseconds(5), at: 71) == .back && !cache.isLost)
    }

    /// What the disk says last is what the log names.
    @Test func theNewestReasonCounts() {
        var cache = CacheReadiness()
        cache.fail("disk full", at: Timestamp(milliseconds: 0))
        cache.fail("read-only file system", at: Timestamp(milliseconds: 1))
        #expect(cache.failure == "read-only file system" && !cache.isWritable)
    }
}
