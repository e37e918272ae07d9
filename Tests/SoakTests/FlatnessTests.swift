import Foundation
import Testing

/// The rule by which a soak is called flat, shown runs that are and runs that are not.
@Suite struct FlatnessTests {
    private static let length = 3600.0

    /// A run of one gateway that starts again as often, with so much memory at an age and a moment.
    private func run(
        starts: Int = 1, memory: (_ age: Double, _ second: Double) -> Double
    ) -> [Sample] {
        (0..<Int(Self.length)).map { second in
            let whole = Int(Self.length) / starts
            let age = Double(second % whole)
            return Sample(
                second: Double(second), gateway: "near", life: second / whole + 1, age: age,
                residentBytes: Int(memory(age, Double(second)) * 1_048_576), descriptors: 40,
                fileBytes: 3 << 20, walBytes: second % 7 << 17)
        }
    }

    private func failures(_ samples: [Sample]) -> [String] {
        Flatness.judge(samples, length: Self.length).filter { !$0.isFlat }.map(\.text)
    }

    @Test func whatStaysIsFlat() {
        #expect(failures(run { _, second in 40 + sin(second) * 4 }) == [])
        // Caches that fill, in the first quarter and after each start; and a peak that ends.
        #expect(failures(run { age, _ in 20 + min(age, 600) / 30 }) == [])
        #expect(failures(run(starts: 20) { age, _ in 30 + min(age, 20) }) == [])
        #expect(failures(run { _, second in (3000..<3200).contains(second) ? 90 : 40 }) == [])
    }

    @Test func whatGrowsIsNot() {
        #expect(failures(run { _, second in 40 + second / 240 }).count == 1)
        #expect(failures(run(starts: 20) { _, second in 40 + second / 240 }).count == 1)
        #expect(failures(run { _, second in second < 2500 ? 40 : 50 }).count == 1)
        var files = run { _, _ in 40 }
        for place in files.indices { files[place].fileBytes += place * 800 }
        #expect(failures(files).count == 1)
        var logs = run { _, _ in 40 }
        logs[2000].walBytes = 34 << 20
        #expect(failures(logs).count == 1)
        var descriptors = run { _, _ in 40 }
        for place in descriptors.indices { descriptors[place].descriptors += place / 90 }
        #expect(failures(descriptors).count == 1)
    }

    @Test func whatWasNotSeenIsNoProof() {
        #expect(failures(run { _, _ in 40 }.filter { $0.second < 2000 }).count == 3)
    }

    @Test func thePictureHoldsEachLifeAndNoMoreThanItMust() {
        let samples = run(starts: 6) { age, _ in 20 + age / 60 }
        let picture = Curves(samples, [(100, "reload")]).picture
        #expect(picture.count < 60_000)
        let lines = picture.split(separator: "\n").filter { $0.contains("fill=\"none\"") }
        #expect(lines.count == 4)
        #expect(lines.allSatisfy { $0.split(separator: "M").count - 1 == 6 })
    }
}
