import Cache
import Configuration
import Dispatch
import Engine
import Ports
import Synchronization
import Upstream
import Wire

/// `gapless init`: the first conversation of a new log in a file, so that a new gateway has
/// something to show.
package enum FirstConversation {
    /// Creates the conversation with one message.
    /// - Throws: `CacheError`, if the file can't be opened; `RequestError`, if the log refuses it.
    package static func write(
        _ id: String, title: String, of users: [String], saying body: String,
        to configuration: Configuration
    ) throws {
        let store = try Store(
            Store.Options(
                path: configuration.cache.path, origin: configuration.upstream.kind.rawValue))
        let embedded = try Embedded(store, limits: configuration.limits.log)
        let isDone = DispatchSemaphore(value: 0)
        let failure = Mutex<RequestError?>(nil)
        embedded.start { outputs in
            for case .performed(_, let result) in outputs {
                if case .failure(let error) = result { failure.withLock { $0 = error } }
                isDone.signal()
            }
        }
        defer { embedded.stop() }
        let fields = ConversationFields(title: title, participants: users)
        let message = NewMessage(author: users[0], content: MessageContent(body: body))
        let operations: [Operation] = [
            .put(id: id, fields), .send(conversation: id, [message]),
        ]
        for (token, operation) in operations.enumerated() {
            embedded.submit([UpstreamCall.perform(operation, by: .server, token: UInt64(token))])
            isDone.wait()
            if let error = failure.withLock({ $0 }) { throw error }
        }
    }
}
