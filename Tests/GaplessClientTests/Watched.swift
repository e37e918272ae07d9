import GaplessClient
import Synchronization

/// What handlers have seen, for a test to look at.
final class Watched: Sendable {
    private struct State {
        var conversations: [Conversation] = []
        var messages: [Message] = []
        var notes: [String] = []
    }

    private let state = Mutex(State())

    var ids: [String] { state.withLock { $0.conversations.map(\.id) } }
    var titles: [String?] { state.withLock { $0.conversations.map(\.title) } }
    var notes: [String] { state.withLock { $0.notes } }
    var bodies: [String] { state.withLock { $0.messages.compactMap(\.body) } }

    var unread: [String: Int] {
        state.withLock { state in
            Dictionary(
                uniqueKeysWithValues: state.conversations.map { ($0.id, $0.unreadCount ?? 0) })
        }
    }

    var boundaryCount: Int {
        state.withLock { state in
            let runs = findBoundaries(ofMessageList: state.messages)
            return runs.count
        }
    }

    func set(_ conversations: [Conversation], _ deltas: Int) {
        state.withLock { $0.conversations = conversations }
    }

    func note(_ note: String) { state.withLock { $0.notes.append(note) } }

    func apply(_ deltas: [MessageDelta]) {
        state.withLock { state in
            state.messages = applyDelta(deltas, toList: state.messages)
        }
    }
}
