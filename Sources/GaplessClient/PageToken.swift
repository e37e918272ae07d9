import Synchronization

/// Numbers for pages, each given once while the process lives: a page comes to all who listen to
/// its conversation, and its number says whose it is.
enum PageToken {
    private static let last = Atomic<Int>(0)

    static func next() -> Int { last.add(1, ordering: .relaxed).newValue }
}
