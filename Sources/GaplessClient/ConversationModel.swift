#if canImport(Observation)
import ClientCore
import Observation
import Wire

/// A conversation for SwiftUI, or for another observer: its rows, holes among them, and what else a
/// view shows. A view that reads a property is drawn again when that changes, and not when
/// something else does.
///
///     List(model.rows) { row in
///         switch row.content {
///         case .message(let message, let isHeld): Text(message.body ?? "deleted")
///         case .gap(let missing): Text("\(missing ?? 0) messages are missing")
///         }
///     }
///     .onAppear { model.online() }
///     .onDisappear { model.offline() }
@MainActor @Observable
public final class ConversationModel {
    /// One row of the list.
    public struct Row: Sendable, Hashable, Identifiable {
        /// What a row shows.
        public enum Content: Sendable, Hashable {
            /// A message, and whether it is the present value: if not, it is from a cache, or
            /// not sent yet.
            case message(Message, isHeld: Bool)
            /// A hole: how many messages are missing.
            case gap(missing: Int)
        }

        /// The message's id, which an unsent one keeps when it arrives; of a hole one that is
        /// made of where it ends.
        public let id: String
        /// What it shows.
        public let content: Content
    }

    /// The messages, oldest first, with a row for each hole between them.
    public private(set) var rows: [Row] = []
    /// Whether what is shown follows the conversation now.
    public private(set) var isLive = false
    /// Whether there may be changes that the gateway does not know of.
    public private(set) var isOpen = false
    /// Whether there are older messages, and newer ones that are not in the list.
    public private(set) var hasMore = Timeline.HasMore(before: false, after: false)
    /// The messages that are not sent yet, oldest first; they have rows too.
    public private(set) var drafts: [Draft] = []
    /// The edits and deletions that are not confirmed, failed, or are in conflict.
    public private(set) var edits: [Change] = []
    /// The conversation's own record, as far as it is known.
    public private(set) var record: Conversation?
    /// Why the model can no longer follow the conversation; nil while it can.
    public private(set) var ending: Ending?

    @ObservationIgnored private let list: ManagedMessageList
    @ObservationIgnored private var rowOf: [String: Int] = [:]

    /// A model that is offline, and empty.
    /// - Parameters:
    ///   - reader: Who reads: their own messages are never unread.
    ///   - limit: How many messages are fetched at once, and it begins with.
    public convenience init(
        _ client: ChatClient, conversation: String, reader: String? = nil, limit: Int = 100
    ) {
        self.init(
            ManagedMessageList(
                client, conversation: conversation, reader: reader, delegate: nil), limit)
    }

    init(_ list: ManagedMessageList, _ limit: Int) {
        self.list = list
        list.fetchLimit = limit
        let own = list.feed.onUpdate
        list.feed.onUpdate = { [weak self] in
            own?($0, $1, $2)
            self?.refresh()
        }
    }

    /// Call it when the view appears; calling it again does nothing.
    public func online() {
        list.online()
        refresh()
    }

    /// Call it when the view goes. What is shown stays.
    public func offline() {
        list.offline()
        refresh()
    }

    /// Call it when a row comes into view: decides what is fetched next.
    public func appeared(_ row: Row) {
        guard let at = rowOf[row.id] else { return }
        list.scrollViewDidScroll(firstVisible: at, lastVisible: at)
    }

    /// Fetches older messages, if there are any.
    public func loadOlder() { list.scrollViewDidReachTop() }

    /// Fetches newer ones that are not in the list.
    public func loadNewer() { list.scrollViewDidReachBottom() }

    private func refresh() {
        set(\.rows, madeRows())
        set(\.isLive, list.isLive)
        set(\.isOpen, list.feed.window.isOpen)
        set(\.hasMore, list.hasMore)
        set(\.drafts, list.feed.window.drafts)
        set(\.edits, list.edits)
        set(\.record, list.feed.window.record)
        set(\.ending, list.ending)
    }

    /// A view is drawn again for what is another value, and for nothing else.
    private func set<Value: Equatable>(
        _ property: ReferenceWritableKeyPath<ConversationModel, Value>, _ value: Value
    ) {
        if self[keyPath: property] != value { self[keyPath: property] = value }
    }

    private func madeRows() -> [Row] {
        var (rows, gaps) = ([Row](), list.gaps[...])
        rowOf = [:]
        for index in 0...list.messageCount() {
            while let gap = gaps.first, gap.items.lowerBound <= index {
                let row = Row(
                    id: "gap up to \(gap.places.high)", content: .gap(missing: gap.missing))
                rowOf[row.id] = max(0, min(index, list.messageCount() - 1))
                rows.append(row)
                gaps.removeFirst()
            }
            guard index < list.messageCount() else { break }
            let message = list.messageAt(index)
            rowOf[message.id] = index
            rows.append(
                Row(
                    id: message.id,
                    content: .message(message, isHeld: list.isHeld(at: index))))
        }
        return rows
    }
}

extension ConversationModel: ConversationFace {
    /// Who writes to the conversation.
    public var writer: ConversationWriter { list.writer }
}

/// The list of the user's conversations for SwiftUI, latest activity first.
@MainActor @Observable
public final class ConversationListModel {
    /// The conversations.
    public private(set) var conversations: [Conversation] = []
    /// Whether there are changes that the gateway may not know of.
    public private(set) var isOpen = false
    /// Whether the list is longer than what is here.
    public private(set) var hasMore = false
    /// Whether anything was told yet.
    public private(set) var isLoaded = false
    /// What kept the list from being read, if that was the last to happen.
    public private(set) var error: ClientError?

    @ObservationIgnored private let client: ChatClient
    @ObservationIgnored private let isWhole: Bool
    @ObservationIgnored private var task: Task<Void, Never>?

    /// A model that is offline, and empty.
    /// - Parameter isWhole: As `ChatClient.subscribeConversations` has it.
    public init(_ client: ChatClient, isWhole: Bool = true) {
        self.client = client
        self.isWhole = isWhole
    }

    deinit { task?.cancel() }

    /// Call it when the view appears; calling it again does nothing.
    public func online() {
        guard task == nil else { return }
        let updates = client.subscribeConversations(isWhole: isWhole)
        task = Task { [weak self] in
            for await update in updates {
                guard !Task.isCancelled else { return }
                self?.take(update)
            }
        }
    }

    /// Call it when the view goes. What is shown stays.
    public func offline() {
        task?.cancel()
        task = nil
    }

    /// Reads on in a list that was not asked for as a whole.
    public func loadMore() { client.loadMoreConversations() }

    private func take(_ update: ConversationsUpdate) {
        error = nil
        switch update {
        case .all(let list), .changed(_, let list):
            isLoaded = true
            if conversations != list { conversations = list }
        case .open(let isOpen): self.isOpen = isOpen
        case .hasMore(let hasMore): self.hasMore = hasMore
        case .failed(let error): self.error = error
        }
    }
}

/// Where a client's connection stands, for SwiftUI.
@MainActor @Observable
public final class ConnectionModel {
    /// The state.
    public private(set) var state = ConnectionState.idle
    @ObservationIgnored private var task: Task<Void, Never>?

    /// A model of a client's connection.
    public init(_ client: ChatClient) {
        let states = client.connectionStates()
        task = Task { [weak self] in
            for await state in states { self?.state = state }
        }
    }

    deinit { task?.cancel() }

    /// Whether requests can be made.
    public var isLive: Bool { state.isLive }
}
#endif
