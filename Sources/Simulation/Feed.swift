import Engine
import Ports
import Wire

/// The queue from the origin to the gateway: outputs stay in commit order and wait until the world
/// delivers them. Lossless; a value, owned by the world.
package struct Feed {
    /// An output to the gateway.
    package enum Output: Sendable {
        case event(FeedEvent)
        /// The result of a write, after the events that it caused.
        case performed(token: UInt64, Result<Outcome, RequestError>)
    }

    private var queue: [(commit: Int, output: Output)] = []
    /// The newest commit of which anything was delivered: a store read at that commit or later
    /// knows everything that the gateway was sent.
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
    /// The same event for a conversation whose record does not name the participants.
    var ofMany: FeedEvent {
        guard
            case .record(var record, let head, let removed, let joined, let isNew, let after) = self
        else { return self }
        record.unnamed = record.participantCount
        record.participants = []
        return .record(
            record, head: head, removed: removed, joined: joined, isNew: isNew, after: after)
    }
}
