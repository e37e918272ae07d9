import ClientCore
import Wire

/// Every message behind a place, in the order of the log, and then each as it comes: for a bot,
/// which must not leave one out however long it was away. It reads no faster than it is taken from.
/// The sequence ends when the gateway ends the subscription for good, or when the client is closed.
///
/// A message is given as it is when it is read, so that a deleted one is a tombstone. If the log
/// begins anew, its messages are given from its beginning.
public struct EveryMessage: AsyncSequence, Sendable {
    let client: ChatClient
    let conversation: String
    let place: Int

    /// The messages, each to one of those who take from it.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let client: ChatClient
        private let conversation: String
        private var place: Int
        private var epoch: String?
        private var page: ArraySlice<Message> = []
        private var updates: Updates<ConversationUpdate>.AsyncIterator

        init(_ all: EveryMessage) {
            (client, conversation, place) = (all.client, all.conversation, all.place)
            updates = client.subscribeMessages(conversation: conversation, limit: 1)
                .makeAsyncIterator()
        }

        /// The next message; nil at the end.
        /// - Throws: `ClientError`, if the gateway refuses to be asked for good.
        public mutating func next() async throws -> Message? {
            while page.isEmpty {
                if try await read() { continue }
                guard await isTold() else { return nil }
            }
            return page.popFirst()
        }

        /// - Returns: whether there was anything new.
        private mutating func read() async throws -> Bool {
            let request = PageRequest(after: .seq(place), limit: 100, order: .asc)
            do {
                let frame = try await client.fetchMessages(conversation: conversation, request)
                if let epoch, epoch != frame.head.epoch {
                    (self.epoch, place) = (frame.head.epoch, 0)
                    return true
                }
                epoch = frame.head.epoch
                page = frame.messages[...]
                place = frame.covers.last ?? frame.messages.last?.seq ?? place
                return !page.isEmpty
            } catch let error as ClientError where error.mayRetry {
                return false
            }
        }

        /// Waits until something may be new: the log has changed, or the connection is back.
        /// - Returns: false if there will never be.
        private mutating func isTold() async -> Bool {
            while let update = await updates.next() {
                switch update {
                case .ended: return false
                case .began, .resumed, .changed, .live(true), .open(false): return true
                default: break
                }
            }
            return false
        }
    }

    /// Begins behind the place.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
