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

    /// One thread queues and another looks, in any order: what is queued is looked at.
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

    /// Many queue jobs while the thread takes some, sends them, and goes to wait: none lies there
    /// while it sleeps and nothing is on its way, in any order of their steps. It is woken once for
    /// all of them.
    @Test(arguments: 0..<100) func noJobLiesBesideAThreadThatSleeps(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var waiting = WaitingJobs()
        var inFlight = JobsInFlight()
        var (isAwake, hasLooked, holders, sent) = (false, true, 0, 0)
        // A few fill the window.
        let value = [UInt8](repeating: 120, count: 40 << 10)
        var fills = 0
        func wake() {
            #expect(hasLooked)
            (isAwake, hasLooked) = (true, false)
        }
        for _ in 0..<2000 {
            switch Int.random(in: 0..<12, using: &random) {
            case 0:
                holders += 1
                waiting.hold()
            case 1, 2:
                guard holders > 0 else { continue }
                holders -= 1
                if waiting.release() { wake() }
            case 3...5:
                let command = RedisCommand.words([Array("PING".utf8), value])
                let job = CommandJob([command], until: .now + .seconds(60)) { _ in }
                let (isTaken, isRung) = waiting.add(job)
                #expect(isTaken)
                if isRung { wake() }
            case 6:
                // Replies make it look, too.
                guard let job = inFlight.answered(at: .now) else { continue }
                waiting.jobs.end(job)
                isAwake = true
            case 7:
                // Of the thread, too.
                guard isAwake, Int.random(in: 0..<10, using: &random) == 0 else { continue }
                let late = waiting.jobs.expired(.now + .seconds(90))
                for job in late { waiting.jobs.end(job) }
            default:
                guard isAwake else { continue }
                guard var job = waiting.next(beside: inFlight) else {
                    if inFlight.bytes >= inFlight.pace.window { fills += 1 }
                    (isAwake, hasLooked) = (false, true)
                    continue
                }
                _ = job.advance(behind: inFlight, at: .now)
                inFlight.append(job)
                sent += 1
            }
            let hasQueued = waiting.jobs.deadline != nil
            #expect(isAwake || holders > 0 || inFlight.first != nil || !hasQueued)
        }
        #expect(sent > 20 && fills > 0)
    }
}
