import Ports
import Simulation
import Testing
import Wire

/// Whose work comes next.
@Suite struct FairQueueTests {
    private static func payer(_ user: String, _ session: UInt64 = 1) -> Payer {
        Payer(user: user.id, session: session)
    }

    private static func order(_ queue: inout FairQueue<String>) -> [String] {
        var order: [String] = []
        while let piece = queue.popFirst() { order.append(piece.element) }
        return order
    }

    @Test func oneWhoIsAloneIsServedInOrder() {
        var queue = FairQueue<String>()
        for (name, cost) in [("a", 3), ("b", 100), ("c", 1)] {
            queue.append(name, for: Self.payer("ann"), cost: cost)
        }
        #expect(queue.count == 3)
        #expect(Self.order(&queue) == ["a", "b", "c"] && queue.isEmpty)
    }

    @Test func usersTakeTurnsByWhatTheyCost() {
        var queue = FairQueue<String>()
        for name in ["a1", "a2", "a3"] { queue.append(name, for: Self.payer("ann"), cost: 10) }
        for name in ["b1", "b2", "b3"] { queue.append(name, for: Self.payer("ben"), cost: 5) }
        #expect(Self.order(&queue) == ["a1", "b1", "b2", "a2", "b3", "a3"])
    }

    @Test func manyConnectionsOfAUserAreOneUser() {
        var queue = FairQueue<String>()
        for session in 1...4 as ClosedRange<UInt64> {
            for _ in 0..<3 { queue.append("a\(session)", for: Self.payer("ann", session), cost: 1) }
        }
        for _ in 0..<3 { queue.append("b", for: Self.payer("ben"), cost: 1) }
        #expect(
            Self.order(&queue).joined(separator: " ") == "a1 b a2 b a3 b a4 a1 a2 a3 a4 a1 a2 a3 a4"
        )
    }

    @Test func whatTurnsOutDearIsPaidByTheNext() {
        var queue = FairQueue<String>()
        for _ in 0..<3 { queue.append("a", for: Self.payer("ann"), cost: 1) }
        for _ in 0..<3 { queue.append("b", for: Self.payer("ben"), cost: 1) }
        #expect(queue.popFirst()?.element == "a")
        queue.charge(Self.payer("ann"), 2)
        #expect(Self.order(&queue) == ["b", "b", "b", "a", "a"])
        // The queue is empty: it forgives all past costs.
        queue.charge(Self.payer("ann"), 100)
        queue.append("a", for: Self.payer("ann"), cost: 1)
        queue.append("b", for: Self.payer("ben"), cost: 1)
        #expect(Self.order(&queue) == ["a", "b"])
    }

    /// Between the moment when a piece comes and the one when it is served, nobody has had more
    /// than its user, but for a turn of each: the other's last one, and the user's own, which may
    /// have been given just before. Whatever comes when, and whatever it costs.
    @Test func nobodyWaitsForMoreThanATurnOfEachOther() {
        for seed in 1...200 as ClosedRange<UInt64> {
            var random = SplitMix64(seed)
            let dearest = random.pick([1, 10, 50]) ?? 1
            let users = (0..<random.number(2...6)).map { "user\($0)" }
            var queue = FairQueue<Int>()
            var served: [(user: ID, cost: Int)] = []
            // What had been served when a piece came, by its number.
            var came: [Int] = []
            for _ in 0..<200 {
                for (place, user) in users.enumerated()
                where random.chance(place == 0 ? 90 : 20) {
                    for _ in 0..<(place == 0 ? 4 : 1) {
                        let payer = Self.payer(user, UInt64(random.number(1...3)))
                        queue.append(came.count, for: payer, cost: random.number(1...dearest))
                        came.append(served.count)
                    }
                }
                for _ in 0..<random.number(0...3) {
                    guard let piece = queue.popFirst() else { break }
                    var had: [ID: Int] = [:]
                    for turn in served[came[piece.element]...] {
                        had[turn.user, default: 0] += turn.cost
                    }
                    let own = had.removeValue(forKey: piece.payer.user) ?? 0
                    let most = own + 2 * dearest
                    #expect(had.values.allSatisfy { $0 <= most }, "seed \(seed): \(had)")
                    served.append((piece.payer.user, piece.cost))
                }
            }
            #expect(served.count > 100)
        }
    }
}
