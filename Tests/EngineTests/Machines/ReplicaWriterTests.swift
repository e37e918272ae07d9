import Chat
import Ports
import Testing
import Wire

@testable import Engine

/// What the cache is told to keep, decided by `ReplicaWriter` and `ReplicaCopy` alone.
@Suite struct ReplicaWriterTests {
    private static let now = MachineSamples.start
    private var writer = ReplicaWriter(trimAfter: nil, at: now)

    private mutating func batch(isToBeRead: Bool = false) -> [StoreWrite] {
        writer.saveAll { _ in isToBeRead }
        return writer.takeBatch()?.writes ?? []
    }

    @Test mutating func aTurnsWritesGoTogetherWithThePositionLast() {
        let stream = MachineSamples.replica()
        writer.keep(MachineSamples.message(9), mark: "m9", of: stream, after: 7)
        writer.keep(MachineSamples.message(10), mark: nil, of: stream, after: 8)
        #expect(
            batch() == [
                .message(conversation: "c1", MachineSamples.message(9), mark: "m9"),
                .message(conversation: "c1", MachineSamples.message(10), mark: nil),
                .hold(conversation: "c1", Coverage(9, 10), asOf: 0),
                .stand(conversation: "c1", head: MachineSamples.head(10)),
            ])
        #expect(stream.replica?.copy.held == Coverage(9, 10))
        #expect(stream.replica?.copy.lastChange == 8)
        #expect(batch() == [])
    }

    /// An answer that was read before would bring back what is gone.
    @Test func aCacheThatTrimsByItselfVoidsWhatItWasAskedBefore() {
        var copy = ReplicaCopy()
        _ = copy.hold(Coverage(1, 10))
        _ = copy.takeUnsaved()
        copy.trim(at: 10)
        let asked = copy.beginnings
        copy.shrink(to: Cached(runs: [.init(.init(5, 10), asOf: 10)], changesFrom: 0))
        #expect(copy.held == Coverage(5, 10))
        #expect(copy.beginnings != asked)
        // It may have more by now: what it holds is read again.
        #expect(copy.trimmedAt == nil)
    }

    @Test mutating func eachStreamIsSavedOnceATurn() {
        let (one, two) = (MachineSamples.replica(), MachineSamples.replica("c2"))
        for _ in 0..<2 { for stream in [one, two] { writer.moved(stream) } }
        writer.saveAll { _ in false }
        let batch = writer.takeBatch()
        #expect(batch?.writes.map(\.conversation) == ["c1", "c2"])
        #expect(Set(batch?.streams.map(\.id) ?? []) == ["c1", "c2"])
    }

    @Test mutating func whatWasSeenAboveAHoleIsSaidWithThePosition() {
        let stream = MachineSamples.replica()
        stream.state?.head = MachineSamples.head(12)
        writer.moved(stream)
        #expect(
            batch() == [
                .stand(
                    conversation: "c1", head: MachineSamples.head(10), seen: MachineSamples.head(12)
                )
            ])
    }

    @Test mutating func aFailedWriteDetachesAndAPauseLaterItBeginsAnew() {
        let stream = MachineSamples.replica()
        writer.hold(Coverage(1, 10), of: stream)
        _ = batch()
        #expect(writer.detach(stream, at: Self.now) == Self.now)
        #expect(writer.detach(stream, at: Self.now) == nil)
        #expect(stream.replica?.copy.held == Coverage())
        // Nothing is written meanwhile, and nothing is held by it.
        writer.keep(.trim(conversation: "c1"), of: stream)
        writer.hold(Coverage(3, 3), of: stream)
        writer.attach(stream, at: Self.now.adding(999))
        #expect(batch() == [] && stream.replica?.copy.isDetached == true)
        stream.state?.head = MachineSamples.head(12)
        writer.attach(stream, at: Self.now.adding(1000))
        #expect(
            batch() == [
                .begin(MachineSamples.record(), head: MachineSamples.head(10)),
                .changesFrom(conversation: "c1", rev: 12),
                .stand(
                    conversation: "c1", head: MachineSamples.head(10), seen: MachineSamples.head(12)
                ),
            ])
        // The same gap, until the file has taken something.
        #expect(writer.detach(stream, at: Self.now.adding(2000)) == Self.now)
        writer.attach(stream, at: Self.now.adding(3000))
        stream.replica?.copy.noteStored()
        #expect(writer.detach(stream, at: Self.now.adding(4000)) == Self.now.adding(4000))
    }

    @Test mutating func aTrimWaitsForThoseWhoReadButNotForEver() {
        writer = ReplicaWriter(trimAfter: 2, at: Self.now)
        let stream = MachineSamples.replica()
        func isTrimmed(_ writes: [StoreWrite]) -> Bool {
            writes.contains(.trim(conversation: "c1"))
        }
        writer.keep(MachineSamples.message(1), mark: nil, of: stream, after: 0)
        let writes1 = batch(isToBeRead: false)
        #expect(!isTrimmed(writes1))
        writer.keep(MachineSamples.message(2), mark: nil, of: stream, after: 0)
        let writes2 = batch(isToBeRead: true)
        #expect(!isTrimmed(writes2))
        writer.moved(stream)
        let writes3 = batch(isToBeRead: false)
        #expect(isTrimmed(writes3))
        #expect(stream.replica?.copy.trimmedAt == 10)
        #expect(writer.takeReloads().map(\.id) == ["c1"])
        #expect(writer.takeReloads().count == 0)
        for _ in 0..<2001 {
            writer.keep(MachineSamples.message(3), mark: nil, of: stream, after: 0)
        }
        let writes4 = batch(isToBeRead: true)
        #expect(!isTrimmed(writes4))
        writer.keep(MachineSamples.message(3), mark: nil, of: stream, after: 0)
        let writes5 = batch(isToBeRead: true)
        #expect(isTrimmed(writes5))
    }

    // MARK: - The copy

    private static let cached = Cached(
        runs: [.init(.init(5, 8), asOf: 9), .init(.init(1, 2), asOf: 3)], changesFrom: 4)

    @Test func aReloadAsOfThePositionIsTakenOver() {
        var copy = ReplicaCopy()
        _ = copy.hold(Coverage(1, 10))
        _ = copy.takeUnsaved()
        copy.trim(at: 10)
        let isTaken = copy.reload(Self.cached, isCurrent: true)
        #expect(isTaken)
        #expect(copy.held == Coverage(5, 8) && copy.changesFrom == 4 && copy.trimmedAt == nil)
        _ = copy.move()
        #expect(copy.takeUnsaved()?.asOf == 9)
    }

    @Test(arguments: [true, false])
    func aReloadFromBeforeAChangeTakesAwayAndGivesNothing(_ isCurrent: Bool) {
        var copy = ReplicaCopy()
        copy.begin(asOf: 7)
        _ = copy.hold(Coverage(1, 6))
        if !isCurrent { _ = copy.takeUnsaved() }
        _ = copy.hold(Coverage(11, 11))
        copy.trim(at: 10)
        let isTaken = copy.reload(Self.cached, isCurrent: isCurrent)
        #expect(!isTaken)
        let kept = isCurrent ? Coverage(1, 6) : Coverage(5, 6)
        #expect(copy.held == kept.union(Coverage(11, 11)))
        #expect(copy.changesFrom == 7)
    }

    /// What was told and not kept is read again after a start, and may be lost at the origin.
    @Test func aStartReadsOnFromWhatTheFileCanProve() {
        func from(_ cached: Cached, at position: Int) -> Int { cached.changesFrom(at: position) }
        #expect(from(Cached(runs: [], changesFrom: 13), at: 1) == 1)
        let seen = Cached(runs: [], changesFrom: 13, seen: MachineSamples.head(5))
        #expect(from(seen, at: 1) == 5 && from(seen, at: 7) == 7)
        // It never rises.
        #expect(from(seen, at: 20) == 13)
        // What is outdated stays so, and what is not does not count.
        let outdated = Cached(
            runs: [.init(.init(1, 2), asOf: 8), .init(.init(4, 6), asOf: 14)], changesFrom: 13)
        #expect(from(outdated, at: 1) == 9 && from(outdated, at: 10) == 10)
        #expect(from(Self.cached, at: 9) == 4)
    }

    @Test func valuesOlderThanWhatTheCacheLeavesOutAreNotTaken() {
        var copy = ReplicaCopy()
        copy.begin(asOf: 7)
        #expect(copy.takes(valueAsOf: 7) && !copy.takes(valueAsOf: 6))
        _ = copy.detach(at: 7, at: Self.now)
        #expect(!copy.takes(valueAsOf: 8))
    }

    @Test func aBackfillServesAllThatItReachesBackTo() {
        var copy = ReplicaCopy()
        copy.begin(asOf: 20)
        copy.fillBack(from: 10)
        copy.filledBack(upTo: 15, more: true, head: MachineSamples.head(30))
        #expect(copy.backfill?.until == nil)
        // It begins no sooner than this one.
        copy.fillBack(from: 10)
        #expect(copy.backfill?.from == 10 && copy.backfill?.upTo == 15)
        copy.fillBack(from: 5)
        #expect(copy.backfill?.from == 5 && copy.backfill?.upTo == 5)
        // What the stream has not taken yet may have replaced what the cache lacks.
        copy.filledBack(upTo: 20, more: true, head: MachineSamples.head(23))
        #expect(copy.changesFrom == 20 && copy.backfill?.until == MachineSamples.head(23))
        let from = copy.settleBackfill()
        #expect(from == 5)
        #expect(copy.changesFrom == 5 && copy.backfill == nil)
        // So it is at the end of the log.
        copy.fillBack(from: 3)
        copy.filledBack(upTo: 40, more: false, head: MachineSamples.head(40))
        #expect(copy.backfill?.until == MachineSamples.head(40))
    }
}
