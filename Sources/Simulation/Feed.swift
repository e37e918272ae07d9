import Engine
import Ports
import Wire

/// The way from the origin to the gateway: what was committed travels in order, and waits here
/// until the world lets it through. Lossless; a value, owned by the world.
package struct Feed {
    /// What the gateway is told.
    package enum Output: Sendable {
        case event(FeedEvent)
        /// The fate of a write, after the events that it caused.
        case performed(token: UInt64, Result<Outcome, RequestError>)
    }

    private var queue: [(commit: Int, output: Output)] = []
    /// The newest commit of which anything was delivered: a store that is read no earlier than that
    /// knows all that the gateway was told.
    package private(set) var position = 0

    package init() {}

    package var count: Int { queue.count }

    package mutating func append(_ output: Output, commit: Int) { queue.append((commit, output)) }

    /// The next `count` outputs.
    package mutating func deliver(_ count: Int) -> [Output] {
        let delivered = queue.prefix(count).map(\.output)
        if let last = queue.prefix(delivered.count).last { position = max(position, last.commit) }
        queue.removeFirst(delivered.count)
        return delivered
    }
}

extension FeedEvent {
    /// The same of a conversation in which more take part than are named.
    var ofMany: FeedEvent {
        guard case .record(var record, let head, let removed, let joined, let isNew) = self else {
            return self
        }
        record.unnamed = record.participantCount
        record.participants = []
        return .record(record, head: head, removed: removed, joined: joined, isNew: isNew)
    }
}
