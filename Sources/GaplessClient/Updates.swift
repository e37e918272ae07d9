/// What happens to something that a client is subscribed to, one element after the other. Loops
/// over the same value share it: each element goes to one of them; for two that see everything,
/// subscribe twice. The subscription lasts as long as somebody holds this or its iterator.
public struct Updates<Element: Sendable>: AsyncSequence, Sendable {
    /// Ends the subscription when the last holder lets go of it.
    final class Token: Sendable {
        let queue: UpdateQueue<Element>
        private let onEnd: @Sendable () -> Void

        init(_ queue: UpdateQueue<Element>, onEnd: @escaping @Sendable () -> Void) {
            self.queue = queue
            self.onEnd = onEnd
        }

        deinit {
            queue.end()
            onEnd()
        }
    }

    let token: Token

    /// The elements, or those that this loop gets of them.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let token: Token

        /// The next element; nil when the client is closed, or the task cancelled.
        public func next() async -> Element? { await token.queue.next() }
    }

    /// The elements, shared with every other loop over this value.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(token: token) }
}
