/// A small seeded generator (Steele, Lea and Flood, 2014), so that every choice of a run, and thus
/// the run, can be repeated from one number. A value; its owner draws from it in order.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(_ seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// True with a probability of `percent`.
    package mutating func chance(_ percent: Int) -> Bool { upTo(100) < percent }

    /// A number from 0 up to, not including, `bound`. The bias of the remainder is far too small to
    /// matter here, and the remainder is cheap in a debug build.
    package mutating func upTo(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

    /// A number in the range.
    package mutating func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + upTo(range.count)
    }

    /// One of the elements; nil if there are none.
    package mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[upTo(elements.count)]
    }
}
