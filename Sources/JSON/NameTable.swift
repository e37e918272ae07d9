/// Names by their bytes, each with the number under which it came first. For thousands of names of
/// one object, without a string for each.
///
/// The hash is keyed by a number that each process draws, as that of Swift's own sets is, or a
/// sender could choose names that all meet in one slot.
struct NameTable {
    private struct Entry {
        let hash: UInt64
        let start: Int
        let end: Int
        /// Whether it lies in `side`, and not in the text of the object.
        let isAside: Bool
    }

    private var entries: [Entry] = []
    /// One more than the number of an entry; 0: free. At most half of them are taken.
    private var slots: [Int32]
    /// Names that do not lie in the text as they are.
    private var side: [UInt8] = []
    private let key = Self.key

    private static let key = (
        start: drawn(by: 1), factor: drawn(by: 2) | 1, last: drawn(by: 3)
    )

    /// Swift's hashes have a key that each process draws.
    private static func drawn(by number: Int) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(number)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// - Parameter capacity: how many names there will be at most.
    init(capacity: Int) {
        var size = 16
        while size < 2 * capacity { size *= 2 }
        slots = [Int32](repeating: 0, count: size)
        entries.reserveCapacity(capacity)
    }

    var count: Int { entries.count }

    /// The bytes of a name, by its number.
    func length(_ number: Int) -> Int { entries[number].end - entries[number].start }

    /// Looks the name up, or takes it in.
    mutating func insert(_ name: String) -> (number: Int, isNew: Bool) {
        let start = side.count
        side.append(contentsOf: name.utf8)
        return insertAside(from: start, in: [])
    }

    /// The same for the name of a member of `text`, which is the same text at each call.
    mutating func insert(
        _ key: JSONScanner.StringToken, in text: [UInt8]
    ) -> (number: Int, isNew: Bool) {
        if key.isEscaped {
            let start = side.count
            JSONText.unescape(text, key.start..<key.end, into: &side)
            return insertAside(from: start, in: text)
        }
        return insert(
            Entry(
                hash: hash(text.span, key.start..<key.end), start: key.start, end: key.end,
                isAside: false), in: text)
    }

    private mutating func insertAside(
        from start: Int, in text: [UInt8]
    ) -> (number: Int, isNew: Bool) {
        let found = insert(
            Entry(
                hash: hash(side.span, start..<side.count), start: start, end: side.count,
                isAside: true), in: text)
        if !found.isNew { side.removeLast(side.count - start) }
        return found
    }

    private mutating func insert(
        _ entry: Entry, in text: [UInt8]
    ) -> (number: Int, isNew: Bool) {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: entry.hash) & mask
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            if entries[number].hash == entry.hash, isSame(entries[number], entry, in: text) {
                return (number, false)
            }
            slot = (slot + 1) & mask
        }
        slots[slot] = Int32(entries.count + 1)
        entries.append(entry)
        return (entries.count - 1, true)
    }

    private func isSame(_ a: Entry, _ b: Entry, in text: [UInt8]) -> Bool {
        guard a.end - a.start == b.end - b.start else { return false }
        for offset in 0..<a.end - a.start {
            let own = a.isAside ? side[a.start + offset] : text[a.start + offset]
            let other = b.isAside ? side[b.start + offset] : text[b.start + offset]
            if own != other { return false }
        }
        return true
    }

    /// Eight bytes at a time, each folded in by a multiplication whose upper half counts too.
    private func hash(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UInt64 {
        var hash = key.start ^ UInt64(range.count)
        var at = range.lowerBound
        while at + 8 <= range.upperBound {
            hash = fold(
                hash ^ bytes.bytes.unsafeLoadUnaligned(fromByteOffset: at, as: UInt64.self))
            at += 8
        }
        var rest: UInt64 = 0
        while at < range.upperBound {
            rest = rest << 8 | UInt64(bytes[at])
            at += 1
        }
        return fold(fold(hash ^ rest) ^ key.last)
    }

    private func fold(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: key.factor)
        return product.high ^ product.low
    }
}
