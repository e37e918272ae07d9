/// Start-time fair queueing: whose turn is next, by the cost of past turns. The rule:
///
/// 1. A key with work has a start: the end of its own last turn, but not before `now`, the start of
///    the last turn given.
/// 2. The lowest start has the next turn; among equal ones the one that has waited longest.
/// 3. A turn ends at its start plus its cost. Cost found out later is charged then, and moves a key
///    that is waiting already.
/// 4. When no key is left waiting, all past costs are forgotten.
///
/// So a newcomer waits for at most one turn of each other key, and of two keys that both wait,
/// neither gets more than the other by more than one turn of each. Deficit round robin guarantees
/// the same, but loops many times before an expensive turn.
///
/// Inlinable for the sake of `FairQueue`.
@usableFromInline
struct FairTurns<Key: Hashable> {
    @usableFromInline
    struct Place {
        @usableFromInline let start: Int
        @usableFromInline let serial: Int
        @usableFromInline let key: Key

        @inlinable
        init(start: Int, serial: Int, key: Key) {
            (self.start, self.serial, self.key) = (start, serial, key)
        }

        @inlinable
        func comes(before other: Place) -> Bool {
            (start, serial) < (other.start, other.serial)
        }
    }

    /// A heap.
    @usableFromInline var places: [Place] = []
    /// The ends of last turns that are later than `now`, and some older ones.
    @usableFromInline var ends: [Key: Int] = [:]
    /// The size of `ends` at which outdated entries are removed: twice as many as were left the
    /// last time, so that the amortized cost is small.
    @usableFromInline var endsLimit = Self.fewEnds
    @usableFromInline var now = 0
    @usableFromInline var serial = 0

    @inlinable
    init() {}

    @inlinable var isEmpty: Bool { places.isEmpty }

    /// The key has work now, and had none before.
    @inlinable
    mutating func enter(_ key: Key) {
        serial += 1
        insert(Place(start: start(of: key), serial: serial, key: key))
    }

    /// The key whose turn is next.
    @inlinable
    mutating func next() -> Key? {
        // A key that was charged meanwhile has a later start.
        while let first = places.first, start(of: first.key) > first.start {
            remove()
            enter(first.key)
        }
        return places.first?.key
    }

    /// Gives the turn of `next`.
    /// - Parameter goesOn: whether the key has more work.
    @inlinable
    mutating func take(cost: Int, goesOn: Bool) {
        guard let first = places.first else { return }
        remove()
        now = first.start
        ends[first.key] = now + cost
        if goesOn { enter(first.key) }
        if places.isEmpty {
            ends.removeAll(keepingCapacity: ends.count < Self.fewEnds)
            endsLimit = Self.fewEnds
            now = 0
            serial = 0
        } else if ends.count > endsLimit {
            ends = ends.filter { $0.value > now }
            endsLimit = 2 * ends.count + Self.fewEnds
        }
    }

    @inlinable static var fewEnds: Int { 64 }

    /// A turn of the key has cost this much more.
    @inlinable
    mutating func charge(_ key: Key, _ cost: Int) {
        if !places.isEmpty { ends[key] = start(of: key) + cost }
    }

    @inlinable
    func start(of key: Key) -> Int { max(now, ends[key] ?? 0) }

    // MARK: - The heap

    @inlinable
    mutating func insert(_ place: Place) {
        places.append(place)
        var index = places.count - 1
        while index > 0, places[index].comes(before: places[(index - 1) / 2]) {
            places.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    @inlinable
    mutating func remove() {
        places.swapAt(0, places.count - 1)
        places.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < places.count && places[child].comes(before: places[least]) {
                least = child
            }
            guard least != index else { return }
            places.swapAt(index, least)
            index = least
        }
    }
}
