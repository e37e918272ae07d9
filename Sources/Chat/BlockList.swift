/// Elements ordered by place, stored in blocks of bounded size; each block keeps its sums.
///
/// A value that a timeline and a grouping own. In one flat array, an insertion would move every
/// later element, and finding an element's index would mean counting from the start. Here an
/// insertion moves at most one block, and an index is the sum over the blocks before it, so that a
/// change in a list of 100,000 costs a few microseconds wherever it is.
///
/// - Complexity: for n elements, find, insert and remove cost O(log n + n / `limit`); the second
///   part is additions only.
struct BlockList<Element: BlockElement>: Sendable {
    /// The most elements in a block: moving that many takes about as long as adding up the block
    /// sums of a list of 100,000.
    private static var limit: Int { 128 }

    private var blocks: [[Element]] = []
    private var sums: [BlockSum] = []
    private(set) var total = BlockSum()

    /// A position in the blocks; `offset` may be the end of the last block.
    private struct Position {
        var block: Int
        var offset: Int
    }

    init() {}

    /// The elements of `ordered`, which must ascend by place.
    init(ordered: some Sequence<Element>) {
        for element in ordered {
            if (blocks.last?.count ?? Self.limit) == Self.limit {
                blocks.append([])
                sums.append(BlockSum())
            }
            blocks[blocks.count - 1].append(element)
            sums[sums.count - 1] += element.sum
            total += element.sum
        }
    }

    var count: Int { total.count }
    var isEmpty: Bool { total.count == 0 }
    var first: Element? { blocks.first?.first }
    var last: Element? { blocks.last?.last }
    /// All elements, in order.
    var all: [Element] { Array(blocks.joined()) }

    subscript(index: Int) -> Element {
        let at = position(of: index)
        return blocks[at.block][at.offset]
    }

    /// How many elements come before the first one for which `isBehind` holds. `isBehind` must hold
    /// for every element after that one too.
    func index(where isBehind: (Element) -> Bool) -> Int {
        index(of: position(where: isBehind))
    }

    /// The index of the element at exactly this place.
    func index(of place: Place) -> Int? {
        let at = position(where: { $0.place >= place })
        guard at.block < blocks.count, at.offset < blocks[at.block].count,
            blocks[at.block][at.offset].place == place
        else { return nil }
        return index(of: at)
    }

    /// The element at exactly this place.
    func element(at place: Place) -> Element? {
        let at = position(where: { $0.place >= place })
        guard at.block < blocks.count, at.offset < blocks[at.block].count,
            blocks[at.block][at.offset].place == place
        else { return nil }
        return blocks[at.block][at.offset]
    }

    /// The sum of the elements before `index`.
    func sum(before index: Int) -> BlockSum {
        guard index < total.count else { return total }
        let at = position(of: index)
        let whole = sums[..<at.block].reduce(into: BlockSum()) { $0 += $1 }
        return blocks[at.block][..<at.offset].reduce(into: whole) { $0 += $1.sum }
    }

    /// The index of the element that begins a row; rows are counted from the first element.
    func index(ofRow row: Int) -> Int {
        precondition(row >= 0 && row < total.rows, "there is no such row")
        var before = BlockSum()
        var block = 0
        while before.rows + sums[block].rows <= row {
            before += sums[block]
            block += 1
        }
        for element in blocks[block] {
            let next = before + element.sum
            if next.rows > row { break }
            before = next
        }
        return before.count
    }

    /// Adds an element, or replaces the one at its place.
    /// - Returns: Its index.
    @discardableResult
    mutating func set(_ element: Element) -> Int {
        var at = position(where: { $0.place >= element.place })
        if at.block < blocks.count, at.offset < blocks[at.block].count,
            blocks[at.block][at.offset].place == element.place
        {
            replace(at, element)
            return index(of: at)
        }
        at = room(at)
        blocks[at.block].insert(element, at: at.offset)
        sums[at.block] += element.sum
        total += element.sum
        return index(of: at)
    }

    /// Changes an element without moving it.
    mutating func update(at index: Int, _ change: (inout Element) -> Void) {
        let at = position(of: index)
        var element = blocks[at.block][at.offset]
        change(&element)
        replace(at, element)
    }

    /// Removes the element at a place.
    @discardableResult
    mutating func remove(_ place: Place) -> Element? {
        let at = position(where: { $0.place >= place })
        guard at.block < blocks.count, at.offset < blocks[at.block].count,
            blocks[at.block][at.offset].place == place
        else { return nil }
        let element = blocks[at.block].remove(at: at.offset)
        sums[at.block] -= element.sum
        total -= element.sum
        shrink(at.block)
        return element
    }

    // MARK: Positions

    private func position(where isBehind: (Element) -> Bool) -> Position {
        var low = 0
        var high = blocks.count
        while low < high {
            let middle = (low + high) / 2
            if let last = blocks[middle].last, isBehind(last) {
                high = middle
            } else {
                low = middle + 1
            }
        }
        guard low < blocks.count else { return Position(block: low, offset: 0) }
        let block = low
        low = 0
        high = blocks[block].count
        while low < high {
            let middle = (low + high) / 2
            if isBehind(blocks[block][middle]) { high = middle } else { low = middle + 1 }
        }
        return Position(block: block, offset: low)
    }

    private func position(of index: Int) -> Position {
        precondition(index >= 0 && index < total.count, "there is no element at this index")
        var left = index
        var block = 0
        while left >= sums[block].count {
            left -= sums[block].count
            block += 1
        }
        return Position(block: block, offset: left)
    }

    private func index(of position: Position) -> Int {
        sums[..<position.block].reduce(position.offset) { $0 + $1.count }
    }

    private mutating func replace(_ at: Position, _ element: Element) {
        let before = blocks[at.block][at.offset].sum
        blocks[at.block][at.offset] = element
        sums[at.block] -= before
        sums[at.block] += element.sum
        total -= before
        total += element.sum
    }

    /// Makes room for one element at a position and returns its position afterwards.
    private mutating func room(_ at: Position) -> Position {
        if at.block == blocks.count {
            // Appending fills the last block, then begins a new one: a list that grows at its end
            // has full blocks.
            if let last = blocks.last, last.count < Self.limit {
                return Position(block: blocks.count - 1, offset: last.count)
            }
            blocks.append([])
            sums.append(BlockSum())
            return at
        }
        guard blocks[at.block].count >= Self.limit else { return at }
        let half = Self.limit / 2
        let upper = Array(blocks[at.block][half...])
        blocks[at.block].removeSubrange(half...)
        blocks.insert(upper, at: at.block + 1)
        let sum = upper.reduce(into: BlockSum()) { $0 += $1.sum }
        sums[at.block] -= sum
        sums.insert(sum, at: at.block + 1)
        return at.offset <= half
            ? at : Position(block: at.block + 1, offset: at.offset - half)
    }

    /// Joins a small block with the next one, so that a list that was thinned out does not keep as
    /// many blocks as it once needed.
    private mutating func shrink(_ block: Int) {
        if blocks[block].isEmpty {
            blocks.remove(at: block)
            sums.remove(at: block)
        } else if block + 1 < blocks.count,
            blocks[block].count + blocks[block + 1].count <= Self.limit / 2
        {
            blocks[block].append(contentsOf: blocks.remove(at: block + 1))
            sums[block] += sums.remove(at: block + 1)
        }
    }
}

/// An element of a `BlockList`.
protocol BlockElement: Sendable {
    var place: Place { get }
    /// What the element adds to the sums.
    var sum: BlockSum { get }
}

/// The counts over elements of a `BlockList`.
struct BlockSum: Sendable, Equatable {
    var count = 0
    var unread = 0
    /// How many elements begin a row.
    var rows = 0

    static func + (a: BlockSum, b: BlockSum) -> BlockSum {
        BlockSum(count: a.count + b.count, unread: a.unread + b.unread, rows: a.rows + b.rows)
    }

    static func += (a: inout BlockSum, b: BlockSum) { a = a + b }

    static func -= (a: inout BlockSum, b: BlockSum) {
        a = BlockSum(count: a.count - b.count, unread: a.unread - b.unread, rows: a.rows - b.rows)
    }
}
