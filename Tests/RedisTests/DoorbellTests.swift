import TestSupport
import Testing

@testable import Upstream

/// The thread of a link is woken once for many jobs, and never too few times.
@Suite struct DoorbellTests {
    @Test func itRingsOnceUntilTheThreadLooks() {
        var bell = Doorbell()
        #expect((0..<5).map { _ in bell.queued() } == [true, false, false, false, false])
        bell.looked()
        let again = bell.queued()
        #expect(again)
    }

    @Test func jobsThatAreQueuedTogetherRingBehindTheLast() {
        var bell = Doorbell()
        bell.hold()
        bell.hold()
        #expect((0..<5).allSatisfy { _ in !bell.queued() })
        let inner = bell.release()
        let outer = bell.release()
        #expect(!inner && outer)
    }

    @Test func manyDoNotWaitForTheLast() {
        var bell = Doorbell()
        bell.hold()
        let rings = (0..<100).map { _ in bell.queued() }
        #expect(rings.firstIndex(of: true) == Doorbell.most - 1)
        #expect(rings.count { $0 } == 1)
    }

    @Test func nobodyRingsForNothing() {
        var bell = Doorbell()
        bell.hold()
        let idle = bell.release()
        bell.hold()
        _ = bell.queued()
        // It had something else to do, and took them all.
        bell.looked()
        let taken = bell.release()
        #expect(!idle && !taken)
    }

    /// Whoever queues and whoever looks come in any order: what is queued is looked at.
    @Test(arguments: 0..<100) func nothingIsForgotten(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var bell = Doorbell()
        var (queued, holders, isWoken) = (0, 0, false)
        for _ in 0..<200 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                holders += 1
                bell.hold()
            case 1 where holders > 0:
                holders -= 1
                if bell.release() { isWoken = true }
            case 2:
                queued += 1
                if bell.queued() { isWoken = true }
            default:
                guard isWoken || Bool.random(using: &random) else { continue }
                bell.looked()
                (queued, isWoken) = (0, false)
            }
            #expect(queued == 0 || isWoken || holders > 0)
        }
    }
}
