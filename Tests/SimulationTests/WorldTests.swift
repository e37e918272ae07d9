import Engine
import Simulation
import Testing

/// The real engine in seeded worlds, judged by the oracle of `Sources/README.md` after every frame:
/// with a log of its own, and with one that lives elsewhere, where everything between may fail.
@Suite struct WorldTests {
    /// Seeds that run after each other, while others run beside them.
    private static let share = 50
    private static let all = ConditionTrait.enabled(
        if: Setting.seed == nil, "one seed is named, and oneSeedIsShown runs it")
    private static let starts = stride(
        from: Setting.first, to: Setting.first + Setting.seeds, by: share)

    @Test(all, arguments: Trial.Kind.allCases, Array(starts))
    func everyClientIsWholeOrToldOfAGap(in kind: Trial.Kind, from start: Int) {
        for seed in start..<min(start + Self.share, Setting.first + Setting.seeds) {
            for isPaced in seed.isMultiple(of: 2) ? [false, true] : [false] {
                let trial = Trial(
                    kind, seed: UInt64(seed), steps: 40 + seed % 40, isPaced: isPaced,
                    reacts: true)
                if let failure = trial.failure() { Issue.record("\(failure)") }
            }
        }
    }

    /// Where the feed only rings, the gateway reads the news: of a slot that changed twice, its
    /// value of then.
    @Test(all, arguments: Array(starts))
    func everyClientOfARingingFeedIsWholeOrToldOfAGap(from start: Int) {
        for seed in start..<min(start + Self.share, Setting.first + Setting.seeds)
        where seed.isMultiple(of: 2) {
            let trial = Trial(
                .replica, seed: UInt64(seed), steps: 40 + seed % 40,
                isPaced: seed.isMultiple(of: 4), isRinging: true, reacts: true)
            if let failure = trial.failure() { Issue.record("\(failure)") }
        }
    }

    /// Where conversations rest, the worlds must come by.
    @Test func someConversationsAreHeldBack() throws {
        var held = 0
        for seed in 1...40 as ClosedRange<UInt64> {
            let world = World(seed: seed, isPaced: true)
            try world.run(steps: 60)
            held += world.engine.report.figures.pacing.heldBack
        }
        #expect(held > 30, "\(held)")
    }

    /// Where one client asks for more than a turn can answer, nobody waits longer than for a turn
    /// of each other: `Fairness` judges each read.
    @Test func nobodyWaitsBehindAGreedyClient() {
        var waited = 0
        for seed in 1...60 as ClosedRange<UInt64> {
            let world = World(seed: seed, isCrowded: true)
            do throws(Violation) {
                try world.run(steps: 60)
            } catch {
                Issue.record("in a crowd: \(error)")
            }
            waited += world.readsThatWaited
        }
        #expect(waited > 300, "\(waited)")
    }

    /// Where the engine keeps the latest changes, the worlds must come by.
    @Test func someResumesAreAnsweredFromMemory() throws {
        var (remembered, resumes) = (0, 0)
        for seed in 1...60 as ClosedRange<UInt64> {
            let world = World(seed: seed)
            try world.run(steps: 60)
            remembered += world.engine.report.figures.remembered
            resumes += world.engine.report.figures.resumes
        }
        #expect(remembered > 20 && remembered < resumes, "\(remembered) of \(resumes)")
    }

    /// Gateways that are ten pages behind, more than they read in one go, while people come back,
    /// resume, and are removed in the middle of the chain.
    @Test func nothingIsMissedInSilenceFarBehind() {
        var (resumes, removals) = (0, 0)
        for seed in 1...UInt64(max(40, Setting.seeds / 8)) {
            let world = ReplicaWorld(seed: seed, isFar: true)
            do throws(Violation) {
                try world.run(steps: 80)
            } catch {
                Issue.record("far behind: \(error)")
            }
            let far = world.farBehind(10)
            resumes += far.resumes
            removals += far.removals
        }
        #expect(resumes > 40 && removals > 4, "\(resumes) resumes, \(removals) removals")
    }

    @Test func someResumesOfAReplicaAreAnsweredFromMemory() throws {
        var (remembered, resumes) = (0, 0)
        for seed in 1...100 as ClosedRange<UInt64> {
            let world = ReplicaWorld(seed: seed)
            try world.run(steps: 60)
            for figures in world.figures {
                remembered += figures.remembered
                resumes += figures.resumes
            }
        }
        #expect(remembered > 20 && remembered < resumes, "\(remembered) of \(resumes)")
    }

    /// Transactions that commit in another order than they were begun, and primaries that go on
    /// when they were replaced, the worlds of ringing feeds must come by.
    @Test func transactionsAndOldPrimariesComeBy() throws {
        var (overtaken, written) = (0, 0)
        for seed in 1...80 as ClosedRange<UInt64> {
            let world = ReplicaWorld(seed: seed, isRinging: true)
            try world.run(steps: 60)
            overtaken += world.overtaken
            written += world.writtenToOld
        }
        #expect(overtaken > 8 && written > 8, "\(overtaken) overtaken, \(written) lost")
    }

    /// Where little else goes wrong than that links break, most lists are known when they do, and
    /// some of who takes part.
    @Test func listsAreAnsweredWhileTheOriginIsAway() {
        var (judged, people) = (0, 0)
        let count = max(100, Setting.seeds)
        for seed in 1...UInt64(count) {
            let faults = Set(Fault.allCases).subtracting([.lapses, .late, .repeated, .stalls])
            let world = ReplicaWorld(
                seed: seed, without: faults, isRinging: seed.isMultiple(of: 3))
            do throws(Violation) {
                try world.run(steps: 80)
            } catch {
                Issue.record("with broken links only: \(error)")
            }
            judged += world.openLists
            people += world.openPeople
        }
        #expect(people > 0, "\(people) answers with people in \(count) worlds")
        #expect(judged * 6 > count, "\(judged) answers in \(count) worlds")
    }

    /// A gateway starts on a file that leaves out changes which a failover loses: it must not wait
    /// for the log to reach them again before it fills a gap.
    @Test func pagesOfALogThatLostItsEndAreTaken() {
        let trial = Trial(
            .replica, seed: 986_456, steps: 53,
            without: [
                .damages, .drops, .empties, .failures, .floors, .gateways, .readers, .reorders,
                .repeated, .short, .stalls,
            ])
        if let violation = trial.violation() { Issue.record("\(violation)") }
    }

    @Test(.enabled(if: Setting.seed != nil, "SIMULATION_SEED names no seed"))
    func oneSeedIsShown() throws {
        let seed = try #require(Setting.seed)
        let trial = Trial(
            Setting.kind, seed: UInt64(seed), steps: Setting.steps, without: Setting.without,
            isPaced: Setting.isPaced, isRinging: Setting.isRinging, reacts: Setting.reacts)
        if let violation = trial.violation(trace: { print($0) }) { Issue.record("\(violation)") }
    }

    @Test(arguments: Trial.Kind.allCases)
    func theSameSeedIsTheSameWorld(in kind: Trial.Kind) {
        for seed in 1...5 as ClosedRange<UInt64> {
            var traces: [[String]] = []
            for _ in 0..<2 {
                var lines: [String] = []
                _ = Trial(kind, seed: seed, steps: 40).violation(trace: {
                    lines.append($0)
                })
                traces.append(lines)
            }
            #expect(traces[0] == traces[1], "seed \(seed)")
            #expect(traces[0].count > 40, "seed \(seed)")
        }
    }

    @Test func everyFaultIsInjected() {
        var injected: [Fault: Int] = [:]
        for seed in 1...300 as ClosedRange<UInt64> {
            let trial = Trial(.replica, seed: seed, steps: 60)
            _ = trial.violation { counts in injected.merge(counts) { $0 + $1 } }
        }
        for fault in Fault.allCases {
            #expect(injected[fault, default: 0] > 10, "\(fault)")
        }
    }
}
