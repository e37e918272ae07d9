import Chat
import Wire

/// What is to be done by the rest of the engine because of logs that live elsewhere, in the order
/// in which it was found, and which streams have something that time decides. Shared by the
/// machines that follow such logs; each only adds.
final class SyncSteps {
    private var steps: [Sync.Step] = []
    /// Streams with something that time decides.
    private var watchful: [ID: Stream] = [:]

    func emit(_ step: Sync.Step) { steps.append(step) }

    /// What is to be done because of what happened since the last time.
    func take() -> [Sync.Step] {
        guard !steps.isEmpty else { return [] }
        defer { steps = [] }
        return steps
    }

    /// The stream has something that time decides.
    func watch(_ stream: Stream) { watchful[stream.id.id] = stream }

    /// It has nothing more.
    func unwatch(_ stream: Stream) { watchful[stream.id.id] = nil }

    /// Those that have.
    var watched: [Stream] { watchful.values.inOrder }
}
