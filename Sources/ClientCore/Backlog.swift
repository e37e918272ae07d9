/// What waits for one listener, in order, and no more of it than a limit.
///
/// Nobody waits for a listener. Who is further behind has no use for what came in between: it is
/// dropped, and the newest state takes its place as soon as they take again. A listener that is
/// never read costs this much memory, and nothing else.
package struct Backlog<Element: Sendable>: Sendable {
    private struct Item {
        var element: Element
        var weight: Int
        /// The answer to a question of this listener, which nobody else has.
        var isAnswer: Bool
    }

    private let limit: Int
    private var items: [Item] = []
    private var next = 0
    /// Of all that waits.
    private var weight = 0
    /// What waited was dropped: `fill` brings the newest state in its place.
    package private(set) var isBehind = false

    /// - Parameter limit: How many messages may wait.
    package init(limit: Int) { self.limit = limit }

    package var isEmpty: Bool { next == items.count }

    /// - Parameters:
    ///   - weight: How many messages it carries; nothing weighs less than one.
    ///   - isAnswer: It answers a question of this listener, and is kept whatever else is dropped:
    ///     a listener has few questions at a time.
    package mutating func push(_ element: Element, weight: Int, isAnswer: Bool = false) {
        guard isAnswer || !isBehind else { return }
        let weight = isAnswer ? 1 : max(1, weight)
        // One that is large by itself, such as a page of an outage, is let in where it is alone.
        if !isAnswer, !isEmpty, self.weight + weight > limit { return fallBehind() }
        items.append(Item(element: element, weight: weight, isAnswer: isAnswer))
        self.weight += weight
    }

    /// The newest state, for who begins to listen, or has fallen behind: what was pushed before is
    /// part of it, and what is pushed from now on comes behind it.
    package mutating func fill(_ present: [Element]) {
        isBehind = false
        for element in present {
            items.append(Item(element: element, weight: 1, isAnswer: false))
            weight += 1
        }
    }

    /// The oldest that waits; nil if there is none.
    package mutating func take() -> Element? {
        guard !isEmpty else { return nil }
        let item = items[next]
        next += 1
        weight -= item.weight
        if next == items.count || next > 1024 {
            items.removeFirst(next)
            next = 0
        }
        return item.element
    }

    private mutating func fallBehind() {
        items = items[next...].filter(\.isAnswer)
        next = 0
        weight = items.count
        isBehind = true
    }
}
