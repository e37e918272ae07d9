import Chat
import ClientCore
import Wire

/// What a handler is told beside the changes of a conversation's messages.
public struct MessagesNews: Sendable {
    /// The log is another one: everything that was in the list is `trimmed` first.
    public var reset: Bool
    /// What is missing now, oldest first, and which messages of the list lie in it: they may be
    /// outdated. Between two messages that are no neighbours in the log there always is one.
    public var gaps: [Timeline.Gap]
    /// Why the list can no longer follow the conversation: then this was the last call.
    public var ending: Ending?
}

/// The list of who takes the changes of a conversation's messages and nothing else, to tell what
/// there is to be told of an update.
struct ToldMessages {
    private var window: MessageWindow

    init(_ conversation: String, limit: Int = 100) {
        window = MessageWindow(conversation: conversation, opening: limit)
    }

    /// - Returns: nil if nothing of it changes the list, or what is missing in it.
    mutating func take(_ update: ConversationUpdate) -> ([MessageDelta], MessagesNews)? {
        // A list of what there is has no place for what is not sent yet.
        if case .drafts = update { return nil }
        let before = window
        let effect = window.take(update)
        let deltas =
            effect.isReload
            ? window.timeline.deltas(from: before.timeline)
            : effect.steps.deltas(from: before.timeline, to: window.timeline)
        var news = MessagesNews(
            reset: effect.isReload && before.timeline.count > 0, gaps: window.gaps, ending: nil)
        if case .ended(let reason) = update { news.ending = reason }
        let isNew =
            news.reset || news.ending != nil || !deltas.isEmpty || before.gaps != news.gaps
        return isNew ? (deltas, news) : nil
    }
}

extension ChatClient {
    /// Subscribes to a conversation's messages, and has a handler called with their changes, one
    /// call after the other: first the latest messages as inserted. Apply them with `applyDelta`.
    /// What lies in one of the `gaps` of the news is missing, or may be outdated.
    /// - Returns: The subscription; cancel it to end it.
    @discardableResult
    public func subscribeMessages(
        conversation: String,
        @_inheritActorContext handler:
            @escaping @isolated(any) @Sendable (
                _ messageDeltas: [MessageDelta], _ news: MessagesNews
            ) async -> Void
    ) -> Task<Void, Never> {
        let updates = subscribeMessages(conversation: conversation)
        return Task {
            var list = ToldMessages(conversation)
            for await update in updates {
                if let (deltas, news) = list.take(update) { await handler(deltas, news) }
            }
        }
    }
}
