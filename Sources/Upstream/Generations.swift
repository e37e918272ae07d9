import Synchronization

/// Numbers of generations, which only rise; all shards of an upstream share one counter.
final class Generations: Sendable {
    private let last = Atomic<Int>(0)

    func next() -> Int { last.add(1, ordering: .relaxed).newValue }
}
