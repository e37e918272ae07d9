/// A queue with amortized constant time at both ends. A value without a limit; its owner sets one.
struct Fifo<Element> {
    /// Reversed: the next element is the last.
    private var front: [Element] = []
    private var back: [Element] = []

    var isEmpty: Bool { front.isEmpty && back.isEmpty }

    var first: Element? { front.last ?? back.first }

    mutating func append(_ element: Element) { back.append(element) }

    /// Puts elements before all others, in their order.
    mutating func prepend(_ elements: [Element]) { front += elements.reversed() }

    mutating func popFirst() -> Element? {
        turn()
        return front.popLast()
    }

    /// Changes the first element, if there is one.
    mutating func withFirst<Value>(_ body: (inout Element) -> Value) -> Value? {
        turn()
        return front.isEmpty ? nil : body(&front[front.count - 1])
    }

    private mutating func turn() {
        guard front.isEmpty else { return }
        front = back.reversed()
        back.removeAll(keepingCapacity: true)
    }
}
