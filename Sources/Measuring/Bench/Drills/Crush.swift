/// How evenly moments are spread: the most that fall into any tenth of a second, wherever it
/// begins.
enum Crush {
    static let span = 100 * Clock.millisecond

    /// - Parameter moments: in any order.
    static func largest(_ moments: [Nanoseconds]) -> Int {
        let sorted = moments.sorted()
        var first = 0
        var most = 0
        for last in sorted.indices {
            while sorted[last] - sorted[first] >= span { first += 1 }
            most = max(most, last - first + 1)
        }
        return most
    }
}
