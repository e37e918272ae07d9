import Chat
import Wire

/// Steps for the rest of the engine from logs that live elsewhere, in order, and the streams that
/// ticks look at. Shared by the parts that follow such logs; each only adds.
final class SyncSteps {
    @exclusivity(unchecked) private var steps: [Sync.Step] = []
    /// Streams with a timeout or retry pending.
    private var watchful: [ID: Stream] = [:]

    func emit(_ step: Sync.Step) { steps.append(step) }

    /// The steps since the last call.
    func take() -> [Sync.Step] {
        guard !steps.isEmpty else { return [] }
        defer { steps = [] }
        return steps
    }

    /// Registers the stream for a look in each tick.
    func watch(_ stream: Stream) { watchful[stream.id.id] = stream }

    /// Ends that.
    func unwatch(_ stream: Stream) { watchful[stream.id.id] = nil }

    /// The streams that ticks look at.
    var watched: [Stream] { watchful.values.inOrder }
}
