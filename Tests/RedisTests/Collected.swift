import Synchronization

/// Texts from several threads.
final class Collected: Sendable {
    private let texts = Mutex<[String]>([])

    var all: [String] { texts.withLock { $0 } }

    func add(_ text: String) { texts.withLock { $0.append(text) } }
}
