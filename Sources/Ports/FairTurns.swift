/// Whose turn it is, by what each one's turns have cost: start-time fair queueing. The rule:
///
/// 1. Who has work stands at a place: where the last turn of the same one ended, and nowhere before
///    `now`, which is where the turn that was given last began.
/// 2. The lowest place has the next turn; of equal ones the one that has stood there longest.
/// 3. A turn ends as far behind its beginning as it costs. What it turns out to cost beyond that is
///    charged later, and moves who stands already.
/// 4. When nobody stands any more, all is forgiven.
///
/// So whoever comes waits for at most one turn of each other, and of two who both wait, neither
/// gets more than the other by more than one turn of each. Deficit round robin promises the same,
/// but walks in circles for a turn that costs much.
struct FairTurns<Key: Hashable> {
    private struct Place {
        var start: Int
        let serial: Int
        let key: Key

        func comes(before other: Place) -> Bool {
            (start, serial) < (other.start, other.serial)
        }
    }

    /// A heap.
    private var places: [Place] = []
    /// Where the last turn ended of those whose next one can't begin at `now`.
    private var ends: [Key: Int] = [:]
    /// How many of those there are when the ones that do not matter any more are let go of: twice
    /// as many as mattered the last time, so that it costs each turn little.
    private var endsLimit = Self.fewEnds
    private var now = 0
    private var serial = 0

    var isEmpty: Bool { places.isEmpty }

    /// Has work from here on, and had none.
    mutating func enter(_ key: Key) {
        serial += 1
        insert(Place(start: start(of: key), serial: serial, key: key))
    }

    /// Whose turn it is.
    mutating func next() -> Key? {
        // One that was charged meanwhile stands further behind.
        while let first = places.first, start(of: first.key) > first.start {
            remove()
            enter(first.key)
        }
        return places.first?.key
    }

    /// The turn of `next` is given.
    /// - Parameter goesOn: it has more work.
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

    private static var fewEnds: Int { 64 }

    /// A turn has cost so much more.
    mutating func charge(_ key: Key, _ cost: Int) {
        if !places.isEmpty { ends[key] = start(of: key) + cost }
    }

    private func start(of key: Key) -> Int { max(now, ends[key] ?? 0) }

    // MARK: - The heap

    private mutating func insert(_ place: Place) {
        places.append(place)
        var index = places.count - 1
        while index > 0, places[index].comes(before: places[(index - 1) / 2]) {
            places.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func remove() {
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
