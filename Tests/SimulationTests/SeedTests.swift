import Simulation
import Testing

/// Worlds that once broke a promise, each kept with what was found in it. A seed means a world only
/// as long as the draws of the worlds stay as they are; the stories in `EngineTests` tell the same
/// without one.
@Suite struct SeedTests {
    struct Seed: Sendable, CustomTestStringConvertible {
        let seed: UInt64
        let steps: Int
        var kind = Trial.Kind.replica
        /// Most are of worlds in which no part of a log was lost, and none was put back.
        var without: Set<Fault> = [.damages, .forks]
        var isPaced = false
        var isRinging = false
        var reacts = false
        let found: String

        var testDescription: String { "\(seed): \(found)" }
    }

    static let seeds = [
        Seed(
            seed: 434, steps: 74,
            found: "reading backwards lowered the knowledge of a cache that had just been trimmed"),
        Seed(
            seed: 521, steps: 41,
            found: "a page from before what is kept was trimmed before it could be answered"),
        Seed(
            seed: 786, steps: 66,
            found: "a page that was trimmed before it could be answered, asked for without end"),
        Seed(
            seed: 673, steps: 73,
            found: "places below the floor were owed, and asked for without a pause"),
        Seed(
            seed: 11, steps: 51,
            found: "each late event of a log that had ended cost a catch-up of its own"),
        Seed(
            seed: 199, steps: 79,
            found: "late events of a log that had ended threw away the chain that was read"),
        Seed(
            seed: 2_034, steps: 74,
            found: "an absence that was read before a conversation came back took it off the list"),
        Seed(
            seed: 210_611, steps: 51,
            found: "a page without a subscription joined the values of two masters"),
        Seed(
            seed: 203_888, steps: 48,
            found: "at the last sweep a conversation was missing from a list at rest"),
        Seed(
            seed: 98, steps: 58,
            found: "a removal that was held back came behind the answer that showed the new log"),
        Seed(
            seed: 1_085, steps: 85,
            found: "a list went on with a branch that was lost, since its answer was the newer"),
        Seed(
            seed: 200_625, steps: 105,
            found: "a removal was not told, since one of the log before it had been"),
        Seed(
            seed: 3_193, steps: 113,
            found: "a gap that was joined to be short took out again what the answer had brought"),
        Seed(
            seed: 4_550, steps: 110,
            found: "a list that had heard more of a lost branch was not told what counts"),
        Seed(
            seed: 10_916, steps: 76,
            found: "a late jump threw away what the chain had read beyond it"),
        Seed(
            seed: 8_827, steps: 67,
            found: "what was asked before a log ended was taken for under way"),
        Seed(
            seed: 2_259, steps: 59,
            found: "a page at the floor, far below the window, hid the hole between"),
        Seed(
            seed: 12_380, steps: 100,
            found: "each handful of late events of a log that had ended cost another doubt"),
        Seed(
            seed: 1_071, steps: 66,
            found: "an answer left out of its boundaries what its holder was ahead of the gateway"),
        Seed(
            seed: 501_778, steps: 56, kind: .embedded,
            found: "a list that showed a new log was told that the old one is gone, and no more"),
        Seed(
            seed: 500_072, steps: 72,
            without: [
                .damages, .forks, .drops, .empties, .failovers, .floors, .gateways, .lapses, .late,
                .readers, .reorders, .short, .stalls, .trims,
            ], isPaced: true, isRinging: true,
            found: "changes were taken for read that a newer one, not heard of yet, had replaced"),
        Seed(
            seed: 500_148, steps: 28,
            without: [
                .damages, .forks, .drops, .duplicates, .empties, .failovers, .failures, .floors,
                .gateways,
                .late, .readers, .reorders, .restarts, .short, .stores,
            ], isPaced: true,
            found: "an event held for an answer brought back what the answer no longer had"
        ),
        Seed(
            seed: 508_734, steps: 49,
            without: [
                .damages, .forks, .drops, .empties, .failovers, .floors, .gateways, .late, .readers,
                .repeated, .restarts, .stalls, .stores, .trims,
            ], isRinging: true,
            found: "an event held for an answer took a list back behind the answer's token"),
        Seed(
            seed: 22_111, steps: 25,
            without: [
                .damages, .drops, .duplicates, .empties, .failovers, .failures, .floors, .gateways,
                .lapses, .late, .readers, .reorders, .repeated, .short, .stalls, .stores, .trims,
            ], isRinging: true,
            found: "a branch that the origin confirmed was taken for the one that had been read"),
        Seed(
            seed: 101_972, steps: 92, kind: .embedded, without: [], isPaced: true,
            found: "a change was not refuted whose log had ended before the stream heard of it"),
        Seed(
            seed: 102_013, steps: 53, without: [],
            found: "the grace of a hole above a hole began when the lower one was closed"),
        Seed(
            seed: 205_903, steps: 88,
            without: [
                .damages, .drops, .empties, .failovers, .failures, .floors, .forks, .gateways,
                .lapses, .late, .readers, .reorders, .repeated, .restarts, .short, .stalls, .stores,
            ], isRinging: true,
            found: "a cache that trimmed itself was written what had been decided before"),
        Seed(
            seed: 303_469, steps: 28,
            without: [
                .damages, .drops, .duplicates, .failovers, .failures, .floors, .gateways, .lapses,
                .late, .reorders, .repeated, .stores,
            ],
            found: "a branch that has what a holder saw was taken for the stream's"),
        Seed(
            seed: 604_920, steps: 40, kind: .embedded,
            found: "who had come back was told to have left, since the feed was behind the store"),
        Seed(
            seed: 608_254, steps: 52,
            without: [
                .damages, .forks, .drops, .duplicates, .empties, .failovers, .failures, .floors,
                .gateways,
                .late, .readers, .reorders, .stores, .trims,
            ], isRinging: true,
            found: "a change whose value an earlier one had brought did not move the list's head"),
        Seed(
            seed: 40_004_427, steps: 28,
            without: [
                .damages, .empties, .floors, .forks, .gateways, .lapses, .late, .readers, .reorders,
                .repeated, .short, .stalls, .trims,
            ], isRinging: true, reacts: true,
            found: "a value newer than its change was stored apart from the change that wrote it"),
        Seed(
            seed: 4_027_680, steps: 40,
            without: [
                .damages, .drops, .duplicates, .empties, .failures, .floors, .gateways, .late,
                .readers, .reorders, .repeated, .short, .stalls, .stores,
            ], isPaced: true,
            found: "what one log had confirmed was taken for confirmed by the log after it"),
        Seed(
            seed: 5_002_828, steps: 31,
            without: [
                .damages, .duplicates, .empties, .failovers, .floors, .gateways, .lapses, .late,
                .readers, .repeated, .short, .stalls, .trims,
            ], isPaced: true,
            found: "a head was compared with what was known when the question was queued"),
        Seed(
            seed: 4_003_226, steps: 66, without: [], isPaced: true, isRinging: true,
            found: "an absence from before an answer showed the conversation took it off the list"
        ),
        Seed(
            seed: 4_006_594, steps: 74, without: [], isPaced: true, isRinging: true,
            found: "the same of a conversation that the list had had before"),
        Seed(
            seed: 703_650, steps: 53,
            without: [
                .damages, .drops, .floors, .forks, .late, .readers, .repeated, .stalls, .stores,
            ], isPaced: true, isRinging: true,
            found: "a page without a subscription was of a branch that the next one was not of"),
        Seed(
            seed: 9_100_126, steps: 29,
            without: [
                .damages, .drops, .duplicates, .failovers, .failures, .floors, .forks, .gateways,
                .lapses, .late, .readers, .reorders, .repeated, .restarts, .short, .stalls,
                .stores, .trims,
            ], isPaced: true, isRinging: true,
            found: "a participant was told that a conversation is not there: the cache had dropped"
                + " its log for the next one"),
        Seed(
            seed: 9_010_164, steps: 18,
            without: [
                .damages, .drops, .empties, .failovers, .failures, .floors, .lapses, .late,
                .readers, .reorders, .repeated, .short, .stalls, .stores, .trims,
            ], isPaced: true,
            found: "what a branch of the log had confirmed counted for the next one"),
        Seed(
            seed: 10_005_675, steps: 18,
            without: [
                .damages, .drops, .empties, .failovers, .floors, .forks, .gateways, .readers,
                .repeated, .restarts, .short, .stalls, .stores,
            ], isRinging: true,
            found: "a list showed no last message: the cache was asked before a page came"),
        Seed(
            seed: 16_022_620, steps: 100,
            without: [
                .damages, .empties, .failures, .floors, .forks, .late, .readers, .reorders,
                .repeated, .restarts, .trims,
            ], isPaced: true,
            found: "a cache that could not be written began anew without the newest change seen"),
        Seed(
            seed: 16_010_359, steps: 31,
            without: [
                .damages, .empties, .forks, .readers, .reorders, .repeated, .short, .stalls,
                .stores, .trims,
            ], isRinging: true,
            found: "the oracle took a marker that came behind a later change for one that never was"
        ),
        Seed(
            seed: 16_020_043, steps: 69,
            without: [
                .damages, .drops, .failovers, .floors, .forks, .gateways, .readers, .repeated,
                .short, .stores, .trims,
            ], isRinging: true,
            found: "who took part in a log that was gone was told who takes part in the next one"),
        Seed(
            seed: 16_024_293, steps: 77,
            without: [
                .drops, .duplicates, .empties, .failovers, .failures, .floors, .forks, .readers,
                .reorders, .repeated, .restarts, .short, .stalls, .stores, .trims,
            ],
            found: "a busy stream passed each head with which a mark was confirmed, and asked again"
        ),
        Seed(
            seed: 17_028_334, steps: 50,
            without: [
                .damages, .duplicates, .empties, .failovers, .failures, .floors, .forks, .gateways,
                .lapses, .late, .readers, .reorders, .repeated, .restarts, .short, .stalls,
                .stores, .trims,
            ], isPaced: true, isRinging: true,
            found: "the same where a feed only notifies"),
        Seed(
            seed: 17_028_505, steps: 65,
            without: [
                .damages, .drops, .duplicates, .empties, .failovers, .failures, .floors, .forks,
                .gateways, .lapses, .late, .readers, .reorders, .repeated, .restarts, .short,
                .stalls, .stores, .trims,
            ],
            found: "the same of a stream that rested between"),
        Seed(
            seed: 18_004_582, steps: 27,
            without: [
                .damages, .drops, .duplicates, .empties, .failovers, .failures, .floors, .gateways,
                .late, .readers, .reorders, .short, .stores,
            ], isPaced: true, isRinging: true,
            found: "a log that was put back confirmed a mark again and again, and was not found"),
        Seed(
            seed: 20_053_830, steps: 36,
            without: [
                .damages, .drops, .duplicates, .failovers, .floors, .forks, .readers, .reorders,
                .short, .stalls, .stores, .trims,
            ], isPaced: true, isRinging: true,
            found: "of two writes that were answered before the log was read the older one counted"
        ),
        Seed(
            seed: 15_001_882, steps: 32,
            without: [
                .damages, .drops, .duplicates, .empties, .failures, .floors, .forks, .gateways,
                .lapses, .late, .readers, .repeated, .restarts, .short, .stalls,
            ], isPaced: true, isRinging: true,
            found: "a participant was told that a conversation is not there: the cache could not"
                + " be written"),
        Seed(
            seed: 40_003_980, steps: 100,
            without: [
                .damages, .drops, .empties, .failovers, .failures, .floors, .forks, .gateways,
                .reorders, .repeated, .restarts, .stalls, .stores, .trims,
            ], isPaced: true, reacts: true,
            found: "a reaction took a last message for told that watchers of lists lacked"),
    ]

    @Test(arguments: seeds)
    func whatWasFoundStaysMended(_ seed: Seed) {
        let trial = Trial(
            seed.kind, seed: seed.seed, steps: seed.steps, without: seed.without,
            isPaced: seed.isPaced, isRinging: seed.isRinging, reacts: seed.reacts)
        if let failure = trial.failure() { Issue.record("\(seed.found): \(failure)") }
    }
}
