import Chat
import JSON
import Wire

/// What a client holds of one conversation, and only the rules by which frames change it:
/// `protocol.md` 1, "What a client does". In addition the facts that the oracle needs: the seqs
/// that the client was told are missing, and the last position of its subscription.
struct Holding {
    /// The newest head seen; nil while nothing is held.
    private(set) var head: Head?
    private(set) var asOf = 0
    private(set) var runs = Coverage()
    /// The rev of the newest value received, by slot; slots outside the runs may be outdated.
    private(set) var revs: [Int: Int] = [:]
    /// The newest value received, by slot, as encoded.
    private(set) var values: [Int: RawJSON] = [:]

    /// Seqs that it was told are missing, or sees missing itself.
    private(set) var told = Coverage()
    /// `asOf` of the subscription's last frame; nil without a subscription.
    private(set) var position: Int?
    /// The revs that the subscription's events brought and did not take out, by slot. Without slots
    /// declared missing: those are sent newest first to the client that lacks them, and oldest
    /// first to everybody.
    private(set) var live: [Int: Int] = [:]
    /// Whether the last frame said `open`.
    private(set) var isOpen = false
    /// How often a subscription ended.
    private(set) var breaks = 0
    /// Incremented with each change.
    private(set) var version = 0

    var have: Have? { head.map { Have(head: $0, asOf: asOf, runs: runs) } }
    var isSubscribed: Bool { position != nil }
    /// Held or known to be missing: everything above the lowest of these must be among them.
    var accounted: Coverage { runs.union(told) }

    /// Forgets everything; an existing subscription goes on.
    private mutating func forget() {
        let old = self
        self = Holding()
        (position, version, breaks) = (old.position, old.version + 1, old.breaks)
    }

    /// Applies a frame.
    /// - Parameter forgets: whether it answers a subscription without `have`.
    mutating func apply(_ frame: FrameContent, forgets: Bool = false) {
        if frame.isReset || forgets || head.map({ $0.epoch != frame.head.epoch }) ?? false {
            forget()
        }
        let isFirst = head == nil
        for value in frame.values + (frame.record.map { [$0] } ?? []) {
            if value.rev >= revs[value.slot] ?? 0 { values[value.slot] = value.json }
            revs[value.slot] = max(revs[value.slot] ?? 0, value.rev)
        }
        let missing = frame.missing
        if frame.source == .messages {
            for value in frame.values where !told.contains(value.slot) {
                live[value.slot] = max(live[value.slot] ?? 0, value.rev)
            }
        }
        live = live.filter { !missing.contains($0.key) }
        let skipped = skipped(by: frame.covers.union(missing), floor: frame.head.floor)
        let trimmed = Coverage(0, frame.head.floor - 1)
        runs = runs.union(frame.covers).subtracting(missing).subtracting(trimmed)
        told = told.union(skipped).subtracting(frame.covers).union(missing)
        switch (frame.source, frame.prev) {
        case (.subscription, _):
            live = [:]
            asOf = frame.asOf
            position = frame.asOf
        case (.page, _):
            asOf = isFirst ? frame.asOf : min(asOf, frame.asOf)
        case (_, let prev):
            if (prev ?? .max) <= asOf { asOf = frame.asOf }
            position = frame.asOf
        }
        isOpen = frame.isOpen
        // Floors only rise, even if nothing else is newer.
        let floor = max(head?.floor ?? 1, frame.head.floor)
        if head.map({ $0.rev < frame.head.rev }) ?? true { head = frame.head }
        head?.floor = floor
        version += 1
    }

    /// The hole between a slot below everything accounted for and the rest: a page from far back,
    /// or the edit of an old message, brings only its own slots, and the holder sees the hole
    /// itself. Trimmed slots don't count as accounted for here.
    private func skipped(by places: Coverage, floor: Int) -> Coverage {
        guard let first = places.first else { return Coverage() }
        var skipped = Coverage()
        if let low = accounted.subtracting(Coverage(0, floor - 1)).first {
            skipped.insert(max(first, floor), low - 1)
        }
        return skipped
    }

    /// The subscription ended; what is held stays.
    mutating func unsubscribe() {
        position = nil
        live = [:]
        breaks += 1
    }

    /// The subscription ended, and nothing that was held still counts.
    mutating func end() {
        unsubscribe()
        forget()
    }

    // MARK: - Holding less

    /// Drops some seqs, as a client short of memory may.
    mutating func drop(_ low: Int, _ high: Int) {
        told = told.union(runs.clipped(low, high))
        runs.remove(low, high)
        version += 1
    }

    /// Prepares for the answer to a subscription, which is about the `have` of the request. Some of
    /// that may have been dropped since, and the answer ignores what other answers brought
    /// meanwhile, unless an unbroken subscription kept that up to date.
    mutating func prepare(forAnswerTo have: Have, isUnbroken: Bool) {
        told = told.union(have.runs.subtracting(runs))
        guard !isUnbroken else { return }
        told = told.union(runs.subtracting(have.runs))
        runs = runs.intersection(have.runs)
        // What other answers brought may lie far from what the request claimed: the holder sees the
        // hole between the two itself.
        if let low = accounted.first, let high = accounted.last {
            told = Coverage(low, high).subtracting(runs)
        }
    }

    /// Goes back to an earlier `asOf`: claiming less is never false.
    mutating func goBack(to asOf: Int) { self.asOf = min(self.asOf, asOf) }
}
