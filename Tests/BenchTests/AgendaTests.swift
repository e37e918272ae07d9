import TestSupport
import Testing

@testable import Bench

/// What is due comes in its order, and nothing comes early.
@Suite struct AgendaTests {
    @Test(arguments: 0..<50) func itemsComeInTheOrderOfTheirMoments(_ seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var agenda = Agenda<Int>()
        let moments = (0..<200).map { _ in Int.random(in: 0..<50, using: &random) }
        for (item, moment) in moments.enumerated() { agenda.add(item, at: moment) }
        var taken: [Int] = []
        for now in 0..<50 {
            while let item = agenda.take(at: now) { taken.append(item) }
            #expect(taken.count == moments.count { $0 <= now }, "seed \(seed)")
            #expect(agenda.next ?? .max > now)
        }
        let expected = moments.indices.sorted { (moments[$0], $0) < (moments[$1], $1) }
        #expect(taken == expected, "seed \(seed)")
    }
}
