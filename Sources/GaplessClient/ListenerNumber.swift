import Synchronization

/// The number of a listener, which is known as soon as the client's thread has taken it in.
final class ListenerNumber: Sendable {
    private let number = Mutex<Int?>(nil)

    var value: Int? {
        get { number.withLock { $0 } }
        set { number.withLock { $0 = newValue } }
    }
}
