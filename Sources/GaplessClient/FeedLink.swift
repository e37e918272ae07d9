import ClientCore
import JSON
import Wire

/// What the objects for views need of a client: a conversation's updates, pages, and to send. The
/// client is one; a test may stand in its place.
@MainActor
protocol FeedLink: AnyObject {
    /// Follows a conversation: each update in its order, until what this returns is ended.
    /// - Parameter limit: How many messages it is to begin with.
    func follow(
        _ conversation: String, limit: Int,
        _ take: @escaping @MainActor (ConversationUpdate) -> Void
    ) -> any Following
    /// Sends a message, now or later.
    /// - Returns: The id under which it is sent.
    func send(
        conversation: String, body: String?, metadata: RawJSON?, replyTo message: String?,
        mentions: [String], mentionAll: Bool
    ) -> String
    /// Tries a draft again that failed.
    func retry(_ draft: String, in conversation: String)
    /// Gives a draft that failed another text.
    /// - Returns: The id under which it is sent.
    func rewrite(_ draft: String, in conversation: String, body: String?) -> String
    /// Gives a draft up.
    func discard(_ draft: String, in conversation: String)
    /// Makes an edit or a deletion, now or later.
    func queue(_ change: Change, in conversation: String)
    /// Says up to where the user has read, now or later.
    func queueRead(upTo seq: Int, in conversation: String)
}

/// One object that follows a conversation.
@MainActor
protocol Following: AnyObject {
    /// Says which places the object looks at, so that they are kept.
    func watch(_ places: Coverage)
    /// Asks for a page of the conversation; it comes as an update with this number, to this object
    /// only.
    func fetch(_ page: PageRequest, token: Int)
    /// No update comes after this.
    func end()
}

/// Follows a conversation on the main actor, by a task that takes from the client's thread.
@MainActor
final class LiveFollowing: Following {
    private let client: ChatClient
    private let conversation: String
    private let number: ListenerNumber
    private var task: Task<Void, Never>?

    init(
        _ client: ChatClient, _ conversation: String, _ limit: Int,
        _ take: @escaping @MainActor (ConversationUpdate) -> Void
    ) {
        self.client = client
        self.conversation = conversation
        let (updates, number) = client.listening(
            { $0.present.presentAgain(of: conversation) },
            { $0.listen($1, to: conversation, limit: limit) },
            { $0.endListening($1, to: conversation) })
        self.number = number
        task = Task { [weak self] in
            for await update in updates {
                // An update that was on its way when the view left is not for a view that comes
                // back.
                guard self?.task != nil else { return }
                take(update)
            }
        }
    }

    deinit { task?.cancel() }

    func watch(_ places: Coverage) {
        let (conversation, number) = (conversation, number)
        client.runner.post { runner in
            if let number = number.value { runner.watch(places, number, of: conversation) }
        }
    }

    func fetch(_ page: PageRequest, token: Int) {
        let (conversation, number) = (conversation, number)
        client.runner.post { runner in
            guard let number = number.value else { return }
            runner.fetch(page, token: token, number, of: conversation)
        }
    }

    func end() {
        task?.cancel()
        task = nil
    }
}
