import Chat
import Ports
@testable import Engine
@testable import Gateway
import Testing
import Wire

/// What is measured, and how it is counted.
@Suite struct MeasurementTests {
    @Test(arguments: [
        (Duration.zero, 0), (.microseconds(100), 0), (.nanoseconds(100_001), 1),
        (.milliseconds(1), 3), (.seconds(10), 15), (.seconds(11), 16), (.seconds(-1), 0),
    ])
    func aDurationFallsIntoTheFirstBucketThatHoldsIt(_ duration: Duration, _ bucket: Int) {
        var histogram = Histogram()
        histogram.observe(duration, times: 3)
        #expect(histogram.counts[bucket] == 3 && histogram.count == 3)
    }

    @Test func theBoundsRiseAndSayWhatTheyAre() {
        let bounds = Histogram.bounds
        #expect(zip(bounds, bounds.dropFirst()).allSatisfy { $0.nanoseconds < $1.nanoseconds })
        for bound in bounds {
            let seconds = Double(bound.label) ?? 0
            #expect(Int64((seconds * 1e9).rounded()) == bound.nanoseconds, "\(bound.label)")
        }
    }

    @Test func bucketsAreWrittenAsSumsThatEndInTheCount() {
        var histogram = Histogram()
        for taken in [0, 2, 2, 700, 20_000] { histogram.observe(.milliseconds(taken)) }
        var text = Exposition()
        text.histogram("a", "b.", histogram)
        let lines = text.text.split(separator: "\n").map(String.init)
        #expect(lines.contains("a_bucket{le=\"0.0001\"} 1"))
        #expect(lines.contains("a_bucket{le=\"0.0025\"} 3"))
        #expect(lines.contains("a_bucket{le=\"1\"} 4") && lines.contains("a_bucket{le=\"10\"} 4"))
        #expect(lines.suffix(3) == ["a_bucket{le=\"+Inf\"} 5", "a_sum 20.704", "a_count 5"])
    }

    @Test func aChangeIsOutAtTheEndOfTheTurnThatBeganAfterItCame() {
        let start = ContinuousClock.now
        let measurements = Measurements()
        measurements.arrived(3, since: start)
        measurements.began()
        // Comes while the turn runs, and is the next one's.
        measurements.arrived(2, since: start + .milliseconds(2))
        measurements.ended(start, at: start + .milliseconds(4))
        #expect(measurements.fanout.count == 3 && measurements.fanout.sum == 0.012)
        #expect(measurements.turn.count == 1)
        measurements.began()
        measurements.ended(start, at: start + .milliseconds(4))
        #expect(measurements.fanout.count == 5 && measurements.fanout.sum == 0.016)
        measurements.began()
        measurements.ended(start, at: start + .milliseconds(5))
        #expect(measurements.fanout.count == 5 && measurements.turn.count == 3)
    }

    @Test func onlyAnOriginThatDoesNotAnswerHasFailed() {
        let measurements = Measurements()
        let results: [Result<HistoryAnswer, RequestError>] = [
            .failure(RequestError(.conversationNotFound, "not there")),
            .failure(RequestError(.originUnreachable, "away")),
        ]
        for (token, result) in results.enumerated() {
            measurements.asked(UInt64(token))
            measurements.answered(UInt64(token), result)
            measurements.answered(UInt64(token), result)
        }
        #expect(measurements.fetch.count == 2 && measurements.failedFetches == 1)
        #expect(measurements.operation.count == 0)
    }

    @Test func theOldestWriteUnderWayIsKnown() {
        let measurements = Measurements()
        #expect(measurements.writes.count == 0 && measurements.writes.oldest == .zero)
        measurements.asked(1)
        measurements.submitted(2)
        measurements.submitted(3)
        #expect(measurements.writes.count == 2 && measurements.writes.oldest > .zero)
        measurements.performed(2)
        measurements.performed(3)
        #expect(measurements.writes.count == 0 && measurements.isAwaiting)
        #expect(measurements.operation.count == 2 && measurements.fetch.count == 0)
    }

    @Test func gapsAreCountedByCauseAndAge() {
        let now = Timestamp(milliseconds: 1_000_000)
        let ages: [(GapCause, Int64)] = [
            (.upstream, 0), (.upstream, 9_999), (.upstream, 10_000), (.cache, 60_000),
            (.cache, 700_000), (.cold, -5),
        ]
        let table = GapTable(
            ages.map { cause, age in
                OpenGap(
                    conversation: "c",
                    gap: Gap(
                        after: 1, before: 3, missing: 1, cause: cause,
                        since: Timestamp(milliseconds: now.milliseconds - age)), state: .queued)
            }, at: now)
        #expect(table.count(.upstream, .below10Seconds) == 2)
        #expect(table.count(.upstream, .belowMinute) == 1)
        #expect(table.count(.cache, .below10Minutes) == 1 && table.count(.cache, .older) == 1)
        #expect(table.count(.cold, .below10Seconds) == 1 && table.oldest(.cold) == 0)
        #expect(table.oldest(.cache) == 700 && table.oldest(.slow) == 0)
    }
}
