import Chat
import JSON
import Wire

/// What a client holds of one conversation, and nothing but the rules by which frames change it:
/// `protocol.md` 1, "What a client does". Beside it stands what the oracle must know: which places
/// the client was told that it lacks, and where the stream of its subscription stood last.
struct Holding {
    /// The newest head seen; nil as long as nothing is held.
    private(set) var head: Head?
    private(set) var asOf = 0
    private(set) var runs = Coverage()
    /// The rev of the value had, by slot; slots outside the runs may be outdated.
    private(set) var revs: [Int: Int] = [:]
    /// The value had, by slot, as it came.
    private(set) var values: [Int: RawJSON] = [:]

    /// Places that it was told are missing, or that it sees to be missing itself.
    private(set) var told = Coverage()
    /// `asOf` of the subscription's last frame; nil while there is no subscription.
    private(set) var position: Int?
    /// The revs of what the events of the subscription have brought and not taken out, by slot. No
    /// places that it was told it lacks: those come newest first to who lacks them, and oldest
    /// first with what everybody is told.
    private(set) var live: [Int: Int] = [:]
    /// The last frame said that the conversation is open.
    private(set) var isOpen = false
    /// How often a subscription has ended.
    private(set) var breaks = 0
    /// Counts what has changed of it.
    private(set) var version = 0

    var have: Have? { head.map { Have(head: $0, asOf: asOf, runs: runs) } }
    var isSubscribed: Bool { position != nil }
    /// Held or known to be missing: what lies above the lowest of these places must be among them.
    var accounted: Coverage { runs.union(told) }

    /// Forgets everything; a subscription that there is goes on.
    private mutating func forget() {
        let old = self
        self = Holding()
        (position, version, breaks) = (old.position, old.version + 1, old.breaks)
    }

    /// Takes a frame in.
    /// - Parameter forgets: it answers a subscription that was asked for without `have`.
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
        // Floors only rise, also where nothing else is newer.
        let floor = max(head?.floor ?? 1, frame.head.floor)
        // A page asked for without a subscription may be of another branch of the log: what
        // is held is of the one that was seen before, and that is what a resume has to say.
        let isOfSame = isSubscribed || frame.source != .page
        if head.map({ $0.rev < frame.head.rev && isOfSame }) ?? true { head = frame.head }
        head?.floor = floor
        version += 1
    }

    /// What lies between a place below all that is accounted for and the rest: a page from far back
    /// or the edit of an old message tells of the place alone, and the holder sees the hole itself.
    /// So does one without a subscription that fetches above what it holds. What the log has thrown
    /// away is no bound of what is accounted for.
    private func skipped(by places: Coverage, floor: Int) -> Coverage {
        guard let high = accounted.last, let first = places.first, let last = places.last else {
            return Coverage()
        }
        var skipped = Coverage()
        if let low = accounted.subtracting(Coverage(0, floor - 1)).first {
            skipped.insert(max(first, floor), low - 1)
        }
        if !isSubscribed { skipped.insert(high + 1, last) }
        return skipped
    }

    /// The subscription has ended; what is held stays.
    mutating func unsubscribe() {
        position = nil
        live = [:]
        breaks += 1
    }

    /// The subscription has ended, and nothing that is held counts any more.
    mutating func end() {
        unsubscribe()
        forget()
    }

    // MARK: - Holding less

    /// Drops some places, as a client that is short of memory may.
    mutating func drop(_ low: Int, _ high: Int) {
        told = told.union(runs.clipped(low, high))
        runs.remove(low, high)
        version += 1
    }

    /// Makes ready for the answer to a subscription. It is about what was said to be held when it
    /// was asked for: that may have been dropped since, and it knows nothing of what another answer
    /// brought in between, unless a subscription kept that up to date all the time.
    mutating func prepare(forAnswerTo have: Have, isUnbroken: Bool) {
        told = told.union(have.runs.subtracting(runs))
        guard !isUnbroken else { return }
        told = told.union(runs.subtracting(have.runs))
        runs = runs.intersection(have.runs)
    }

    /// Goes back to an earlier `asOf`: to know less is never a lie.
    mutating func goBack(to asOf: Int) { self.asOf = min(self.asOf, asOf) }
}
