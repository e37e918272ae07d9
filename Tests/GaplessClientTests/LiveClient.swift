import Foundation
import GaplessClient
import Testing
import TestSupport

/// Real clients of a real gateway: its own process, SQLite file and sockets. One after the other,
/// since each takes what two cores give.
@Suite(.serialized) enum LiveClient {
    static func client(
        _ gateway: GatewayProcess, _ user: String, port: Int? = nil, store: String? = nil
    ) throws -> ChatClient {
        var options = ChatClient.Options()
        options.store = store
        let url = "ws://127.0.0.1:\(port ?? gateway.port)/v1/ws"
        return try ChatClient(url: url, options: options) { _ in .user(user) }
    }

    /// Looks again and again until a condition holds.
    static func eventually(
        _ deadline: Deadline = .after(.seconds(60)),
        isolation: isolated (any Actor)? = #isolation,
        _ condition: () async throws -> Bool
    ) async throws -> Bool {
        while try await !condition() {
            if deadline.isOver { return false }
            try await Task.sleep(for: .milliseconds(10))
        }
        return true
    }
}

/// A window that follows a subscription, on a task of its own, and counts what happens.
actor Follower {
    private(set) var window: MessageWindow
    private(set) var begun = 0
    private(set) var resumed = 0
    private(set) var interrupted = 0
    private(set) var failures: [ClientError] = []
    /// The ids of the rows after each update, to see whether one vanishes in between.
    private(set) var rows: [[String]] = []
    /// Held by a task that takes nothing until it is let go.
    private var isHolding = false
    private var task: Task<Void, Never>?

    init(_ conversation: String, reader: String) {
        window = MessageWindow(conversation: conversation, reader: reader)
    }

    func follow(_ updates: Updates<ConversationUpdate>) {
        task = Task { [weak self] in
            for await update in updates {
                guard let self else { return }
                while await self.isHolding { try? await Task.sleep(for: .milliseconds(5)) }
                await self.take(update)
            }
        }
    }

    func stop() { task?.cancel() }
    func hold(_ isHolding: Bool) { self.isHolding = isHolding }

    private func take(_ update: ConversationUpdate) {
        _ = window.take(update)
        switch update {
        case .began: begun += 1
        case .resumed: resumed += 1
        case .live(false): interrupted += 1
        case .failed(let error): failures.append(error)
        default: break
        }
        rows.append(window.timeline.items.map(\.id))
    }

    /// The messages held, as the truth writes them: revs by place.
    var revs: [Int: Int] {
        var revs: [Int: Int] = [:]
        for index in 0..<window.timeline.count where window.timeline.isHeld(at: index) {
            revs[window.timeline[index].seq ?? 0] = window.timeline[index].rev
        }
        return revs
    }

    var coverage: Coverage { window.timeline.coverage }
    var isLive: Bool { window.isLive }
    var gaps: [Timeline.Gap] { window.timeline.gaps }
    var items: [Message] { window.timeline.items }
}

extension Truth.Log {
    /// The newest rev of every message.
    var newest: [Int: Int] {
        Dictionary(
            uniqueKeysWithValues: messages.map { ($0["seq"].int ?? 0, $0["rev"].int ?? 0) })
    }
}
