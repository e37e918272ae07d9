import Foundation
import Synchronization
import TestSupport
import Testing

/// Real gateways on a real Redis for as long as one likes, with a mixed load and one mishap after
/// the other, each frame judged by the oracle; and what they take of memory, descriptors and disk
/// stays what it is.
///
/// `make soak` runs it for an hour, `SOAK_SECONDS` says for how long, `TEST_SEED` begins the random
/// choices elsewhere; processes and sockets are not repeated by it. Its lines and its picture are
/// in `.build/reports`.
@Suite(.serialized) struct SoakTests {
    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    /// What is in the reports' folder under this name.
    private static func report(_ name: String) throws -> URL {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let folder = root.appendingPathComponent(".build/reports")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder.appendingPathComponent(name)
    }

    private static let length = Double(number("SOAK_SECONDS") ?? 20)
    /// What was taken while it ran, for the second test of this suite.
    private static let samples = Mutex<[Sample]>([])

    @Test func nothingIsLost() throws {
        let length = Self.length
        let seed = UInt64(truncatingIfNeeded: Self.number("TEST_SEED") ?? 7)
        print("soak: \(Int(length)) s, seed \(seed)")
        let stage = try Stage(length: length, seed: seed, samples: Self.report("soak.jsonl"))
        do {
            try stage.run()
            try stage.settle()
        } catch {
            // What was found until then says more.
            stage.accuse("ended: \(error)")
        }
        let curves = Curves(stage.sampler.samples, stage.sampler.marks)
        try Data(curves.picture.utf8).write(to: Self.report("soak.svg"))
        let faults = stage.judge()
        #expect(faults.isEmpty, "\(faults.joined(separator: "\n"))")
        expectLively(stage, length)
        stage.report()
        Self.samples.withLock { $0 = stage.sampler.samples }
    }

    /// The suite is serialized: the other test has run before.
    @Test(.enabled(if: length >= Flatness.shortest, "a short run has no curve to be judged"))
    func nothingGrows() throws {
        let samples = Self.samples.withLock { $0 }
        try #require(!samples.isEmpty)
        for finding in Flatness.judge(samples, length: Self.length) {
            print("soak: \(finding.text)")
            #expect(finding.isFlat, "\(finding.text)")
        }
    }

    /// It has happened what is to be judged.
    private func expectLively(_ stage: Stage, _ length: Double) {
        let all = stage.figures
        #expect(stage.counts.values.reduce(0, +) >= Int(length / 15))
        #expect(stage.guests.allSatisfy { $0.witness.judged > Int(length / 4) })
        #expect(stage.sampler.samples.count >= Int(length))
        #expect(stage.chronicle.changeCount > 2400 + Int(length) && all.writes > 0)
        guard length >= Flatness.shortest else { return }
        #expect(stage.counts.count == Mishap.all.count, "\(stage.counts)")
        #expect(all.resumes > 100 && all.expiries > 10 && all.refreshes > 10 && all.drains > 10)
        #expect(all.slowGaps > 0 && all.removals > 0)
        #expect(stage.inquest.unmet.isEmpty, "fates that nobody met: \(stage.inquest.unmet)")
    }
}

extension Stage {
    /// Of all guests together.
    var figures: Guest.Figures {
        guests.map(\.figures).reduce(into: Guest.Figures()) { $0.add($1) }
    }

    /// Lines of what the run came to, which `make soak` gathers.
    func report() {
        let all = figures
        let frames = guests.reduce(0) { $0 + $1.witness.judged }
        let starts = "near \(sampler.lifeCount("near")), far \(sampler.lifeCount("far"))"
        print(
            "soak: changes \(chronicle.changeCount), of guests \(all.writes) | frames judged"
                + " \(frames) | visits \(all.visits), resumes \(all.resumes)"
                + " | tokens refreshed \(all.refreshes), run out \(all.expiries)"
                + " | sent away by drains \(all.drains) | slow gaps \(all.slowGaps)"
                + " | taken out \(all.removals) | starts \(starts)")
        let own = sampler.ownBytes
        if let first = own.dropFirst(own.count / 4).first, let last = own.last {
            print("soak: the tests took \(first >> 20) MiB at a quarter, \(last >> 20) at the end")
        }
        for line in inquest.lines { print("soak: \(line)") }
        print("soak: \(losses.line(gateways))")
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
            print("soak: \(name): \(count)")
        }
    }
}
