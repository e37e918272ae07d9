import ClientCore
import Wire

/// What kind of row an item is.
public typealias ChatItemType = String

/// One row of a chat.
public protocol ChatItemProtocol: AnyObject {
    /// The same for as long as the row is there, and no other row's.
    var uid: String { get }
    /// What kind of row it is; an item whose type changes counts as another.
    var type: ChatItemType { get }
}

/// How a view should take an update of its data source.
public enum UpdateType: Sendable, Hashable {
    /// Something changed; insertions and deletions can be animated.
    case normal
    /// The first items: lay them out at once, and show the end.
    case firstLoad
    /// The first answer of the gateway, after items that the client had kept.
    case firstSync
    /// A page came: keep the position.
    case pagination
    /// Everything is another.
    case reload
    /// Items far from the view were taken out: keep the position.
    case messageCountReduction
}

/// Who is told when a data source changes.
@MainActor
public protocol ChatDataSourceDelegateProtocol: AnyObject {
    /// The items are others.
    func chatDataSourceDidUpdate(
        _ chatDataSource: any ChatDataSourceProtocol, updateType: UpdateType)
    /// The source can no longer follow the conversation, for this reason.
    func chatDataSourceDidEnd(reason: Ending)
}

extension ChatDataSourceDelegateProtocol {
    /// Does nothing.
    public func chatDataSourceDidEnd(reason: Ending) {}
}

/// The items of a chat view, which asks for more as it is scrolled.
@MainActor
public protocol ChatDataSourceProtocol: AnyObject {
    /// Whether there are newer items.
    var hasMoreNext: Bool { get }
    /// Whether there are older items.
    var hasMorePrevious: Bool { get }
    /// The items, oldest first.
    var chatItems: [any ChatItemProtocol] { get }
    /// Who is told.
    var delegate: (any ChatDataSourceDelegateProtocol)? { get set }

    /// Loads newer items; an update of type `pagination` follows.
    func loadNext()
    /// Loads older items; an update of type `pagination` follows.
    func loadPrevious()
    /// Takes items out that are far from the view.
    /// - Parameters:
    ///   - preferredMaxCount: How many to keep; nil to keep all.
    ///   - focusPosition: Where the view stands, from 0 (the oldest item) to 1 (the newest).
    ///   - completion: Called before this returns, with whether anything was taken out.
    func adjustNumberOfMessages(
        preferredMaxCount: Int?, focusPosition: Double, completion: (_ didAdjust: Bool) -> Void)
}

/// A message as a row.
public final class MessageItem: ChatItemProtocol {
    /// The type of a message that is there, and that of a tombstone.
    public static let types = (message: "message", deleted: "deleted message")

    /// The message's id, which an unsent one keeps when it arrives.
    public let uid: String
    /// `types`.
    public let type: ChatItemType
    /// The message.
    public let message: Message
    /// Whether it is the present value; if not, it is from a cache, or not sent yet.
    public let isHeld: Bool

    /// A row for a message.
    public init(_ message: Message, isHeld: Bool) {
        uid = message.id
        type = message.isDeleted ? Self.types.deleted : Self.types.message
        self.message = message
        self.isHeld = isHeld
    }
}

/// The data source of one conversation: a window of its messages that grows as the view asks, and
/// at its newest end by itself, but only while the view is there.
@MainActor
public final class ChatDataSource: ChatDataSourceProtocol {
    /// How many messages are loaded at once, from 1 to 1,000.
    public var pageSize: Int
    /// Who is told.
    public weak var delegate: (any ChatDataSourceDelegateProtocol)?

    let feed: ConversationFeed
    private var hasItems = false
    private(set) var isSynced = false
    private var isPreviousWanted = false
    private var isNextWanted = false

    /// A data source that begins to follow the conversation at once.
    /// - Parameter pageSize: With how many messages it begins, and how many are loaded at once.
    public convenience init(
        _ client: ChatClient, conversation: String, reader: String? = nil, pageSize: Int = 50
    ) {
        self.init(
            client as any FeedLink, conversation: conversation, reader: reader,
            pageSize: pageSize)
    }

    init(_ link: any FeedLink, conversation: String, reader: String?, pageSize: Int) {
        self.pageSize = pageSize
        feed = ConversationFeed(link, conversation, reader: reader)
        feed.onUpdate = { [weak self] in self?.updated($0, $1, $2) }
        feed.start(limit: pageSize)
    }

    /// Whether there are newer messages than the newest loaded, or holes below it.
    public var hasMoreNext: Bool { feed.window.hasMore.after }
    /// Whether there are older messages than the oldest loaded.
    public var hasMorePrevious: Bool { feed.window.hasMore.before }
    /// The holes below the newest message: before which item, and how many messages are missing if
    /// that is known. Between two items that are no neighbours in the log there always is one.
    public var gaps: [Timeline.Gap] { feed.window.gaps }
    /// Why the source can no longer follow the conversation; nil while it can.
    public var ending: Ending? { feed.ending }

    /// The messages, oldest first.
    /// - Complexity: O(n)
    public var chatItems: [any ChatItemProtocol] {
        let timeline = feed.window.timeline
        return timeline.items.enumerated().map { MessageItem($1, isHeld: timeline.isHeld(at: $0)) }
    }

    /// Loads newer messages, and what is missing below them, the oldest first; as soon as there is
    /// a session to ask.
    public func loadNext() {
        isNextWanted = !feed.window.isLive
        feed.load(.down(nil), limit: pageSize)
    }

    /// Loads older messages, as soon as there is a session to ask.
    public func loadPrevious() {
        isPreviousWanted = !feed.window.isLive
        feed.load(.up(feed.places(of: 0..<min(1, feed.window.timeline.count))), limit: pageSize)
    }

    /// Takes messages out that are far from the view, and tells the delegate.
    public func adjustNumberOfMessages(
        preferredMaxCount: Int?, focusPosition: Double, completion: (_ didAdjust: Bool) -> Void
    ) {
        var didAdjust = false
        if let preferredMaxCount {
            feed.change {
                didAdjust = !$0.trim(to: preferredMaxCount, focus: focusPosition).isEmpty
            }
        }
        completion(didAdjust)
        if didAdjust { tell(.messageCountReduction) }
    }

    private func updated(
        _ update: ConversationUpdate, _ before: MessageWindow, _ effect: MessageWindow.Effect
    ) {
        let first = !hasItems && feed.window.timeline.isLoaded
        switch update {
        case .began where first, .resumed where first:
            hasItems = true
            tell(.firstLoad)
        case .page(_, .success): tell(.pagination)
        case .resumed where !isSynced: tell(.firstSync)
        default:
            if effect.isReload {
                tell(.reload)
            } else if !effect.isEmpty || before.gaps != feed.window.gaps {
                tell(.normal)
            }
        }
        if case .live(true) = update {
            isSynced = true
            if isPreviousWanted { loadPrevious() }
            if isNextWanted { loadNext() }
        }
        if case .ended(let reason) = update { delegate?.chatDataSourceDidEnd(reason: reason) }
    }

    private func tell(_ type: UpdateType) {
        delegate?.chatDataSourceDidUpdate(self, updateType: type)
    }
}
