/// Items in the order in which they are due; at equal times, in the order in which they were added.
struct Agenda<Item> {
    private struct Entry {
        let moment: Nanoseconds
        let order: Int
        let item: Item

        func isBefore(_ other: Entry) -> Bool {
            (moment, order) < (other.moment, other.order)
        }
    }

    /// A binary heap.
    private var entries: [Entry] = []
    private var order = 0

    /// When the first item is due.
    var next: Nanoseconds? { entries.first?.moment }

    mutating func add(_ item: Item, at moment: Nanoseconds) {
        order += 1
        entries.append(Entry(moment: moment, order: order, item: item))
        var place = entries.count - 1
        while place > 0, entries[place].isBefore(entries[(place - 1) / 2]) {
            entries.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    /// Removes and returns the first item, if it is due.
    mutating func take(at now: Nanoseconds) -> Item? {
        guard let first = entries.first, first.moment <= now else { return nil }
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < entries.count && entries[child].isBefore(entries[least]) {
                least = child
            }
            if least == place { return first.item }
            entries.swapAt(place, least)
            place = least
        }
    }

    mutating func removeAll() { entries.removeAll() }
}
