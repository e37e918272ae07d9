import ClientCore
import Wire

/// Who is told when a managed list changes.
@MainActor
public protocol ManagedMessageListDelegate: AnyObject {
    /// The list has changed; read it anew. The deltas say what: a message that left the list (not
    /// one that was deleted in the conversation: that is an update, a tombstone) is `deleted`.
    func managedMessageListDidChange(messageDeltas: [MessageDelta])
}

/// The message list of one conversation, ready for a table: it fetches as the reader scrolls,
/// follows what happens, and after an outage knows what it missed.
///
/// It belongs to a view and lives on the main actor. Position 0 is the oldest message; deleted ones
/// keep their row, as tombstones. Messages that are not sent yet stand at the end.
@MainActor
public final class ManagedMessageList {
    /// How many messages are fetched at once, from 1 to 1,000.
    public var fetchLimit = 100
    /// Whether what the client kept is shown before the gateway has answered.
    public var useCache = true
    /// Whether new messages come into the list by themselves.
    public var subscribeNewMessages = true
    /// Whether what was missed in an outage is fetched by itself, as far as the reader is at the
    /// newest end. If not, it is a gap, which is filled when the reader scrolls there.
    public var syncOnReconnect = true
    /// Who is told.
    public weak var delegate: (any ManagedMessageListDelegate)?

    /// So many rows from an edge of what is loaded, the next page is fetched.
    private static let preload = 50

    private let feed: ConversationFeed
    private var wasLive = false
    private var hasAnswered = false

    /// A list that is offline, and empty.
    /// - Parameters:
    ///   - conversation: Which conversation.
    ///   - reader: Who reads: unsent messages are theirs, and their own are never unread.
    ///   - delegate: Who is told when it changes.
    public init(
        _ client: ChatClient, conversation: Conversation, reader: String? = nil,
        delegate: (any ManagedMessageListDelegate)?
    ) {
        feed = ConversationFeed(client, conversation.id, reader: reader, opening: 100)
        self.delegate = delegate
        feed.filter = { [weak self] in self?.filtered($0) }
        feed.onUpdate = { [weak self] in self?.updated($0, $1, $2) }
    }

    /// Call it when the view appears and the connection is there; calling it again does nothing.
    public func online() { feed.start() }

    /// Call it when the view goes, or the connection. What is shown stays.
    public func offline() { feed.stop() }

    /// How many messages there are.
    public func messageCount() -> Int { isShown ? feed.window.timeline.count : 0 }

    /// The message at a position, 0 being the oldest.
    public func messageAt(_ position: Int) -> Message { feed.window.timeline[position] }

    /// Whether the message at a position is the present value, as far as anybody knows; if not, it
    /// is from a cache, or not sent yet.
    public func isHeld(at position: Int) -> Bool { feed.window.timeline.isHeld(at: position) }

    /// The holes of the list: before which position, and how many messages are missing if that is
    /// known.
    public var gaps: [Timeline.Gap] { feed.window.timeline.gaps }

    /// Whether there are older or newer messages beyond the ends of the list.
    public var hasMore: Timeline.HasMore { feed.window.timeline.hasMore }

    /// Whether the list follows the conversation now; before that, and in an outage, it only shows
    /// what is held, and fetches nothing.
    public var isLive: Bool { feed.window.isLive }

    /// Whether a page is being fetched.
    public var isFetching: Bool { !feed.underWay.isEmpty }

    // MARK: Scroll view delegate methods

    /// Call it whenever the view has scrolled or was laid out: decides what is fetched next.
    /// - Parameters:
    ///   - first: The first position that is visible.
    ///   - last: The last one.
    public func scrollViewDidScroll(firstVisible first: Int, lastVisible last: Int) {
        guard first <= last else { return }
        feed.visible = first..<last + 1
        let near = max(0, first - Self.preload)..<last + 1 + Self.preload
        if feed.fillGap(near: near, limit: fetchLimit) { return }
        if first < Self.preload { feed.fetchOlder(limit: fetchLimit) }
        if last >= messageCount() - Self.preload { feed.fetchNewer(limit: fetchLimit) }
    }

    /// The view has come to its upper edge.
    public func scrollViewDidReachTop() { feed.fetchOlder(limit: fetchLimit) }

    /// The view has come to its lower edge.
    public func scrollViewDidReachBottom() {
        let end = feed.window.timeline.count
        if !feed.fillGap(near: end..<end, limit: fetchLimit) {
            feed.fetchNewer(limit: fetchLimit)
        }
    }

    // MARK: Updates

    private var isShown: Bool { useCache || hasAnswered }

    /// Takes out of an update what this list was told not to follow.
    private func filtered(_ update: ConversationUpdate) -> ConversationUpdate? {
        let timeline = feed.window.timeline
        switch update {
        case .resumed(let frame) where !syncOnReconnect && timeline.isLoaded:
            return .resumed(frame.upTo(timeline.coverage.last ?? 0))
        case .changed(let frame) where !subscribeNewMessages && timeline.isLoaded:
            return .changed(frame.upTo(timeline.coverage.last ?? 0))
        default: return update
        }
    }

    private func updated(
        _ update: ConversationUpdate, _ before: MessageWindow, _ effect: MessageWindow.Effect
    ) {
        var before = before
        var isReload = effect.isReload
        if case .live(true) = update, !hasAnswered {
            hasAnswered = true
            if !useCache {
                before = MessageWindow(conversation: feed.conversation)
                isReload = true
            }
        }
        if case .resumed = update, syncOnReconnect, isAtEnd { scrollViewDidReachBottom() }
        if case .live(true) = update {
            if syncOnReconnect, isAtEnd { scrollViewDidReachBottom() }
            // Where the view was scrolled to meanwhile, nothing could be fetched.
            if let first = feed.visible?.first, let last = feed.visible?.last {
                scrollViewDidScroll(firstVisible: first, lastVisible: last)
            }
        }
        guard isShown, isReload || !effect.isEmpty else { return }
        let deltas =
            isReload
            ? feed.window.timeline.deltas(from: before.timeline)
            : effect.steps.deltas(from: before.timeline, to: feed.window.timeline)
        if !deltas.isEmpty || isReload {
            delegate?.managedMessageListDidChange(messageDeltas: deltas)
        }
    }

    /// Whether the reader is at the newest end, as far as the view has said.
    private var isAtEnd: Bool {
        guard let visible = feed.visible else { return true }
        return visible.upperBound >= feed.window.timeline.count - Self.preload
    }
}

extension MessagesFrame {
    /// The frame without what it says of places above `high`: from there on there is a gap.
    fileprivate func upTo(_ high: Int) -> MessagesFrame {
        var frame = self
        frame.deltas = deltas.filter { $0.message.seq ?? 0 <= high }
        frame.messages = frame.deltas.map(\.message)
        frame.covers = covers.clipped(0, high)
        return frame
    }
}

extension Timeline {
    /// What a list that showed `old` has to be told to show this.
    func deltas(from old: Timeline) -> [MessageDelta] {
        let gone = old.items.filter { index(of: $0.id) == nil }
        let deleted = gone.map { MessageDelta(type: .deleted, message: $0) }
        return deleted
            + items.compactMap { message in
                guard let known = old.index(of: message.id) else {
                    return MessageDelta(type: .inserted, message: message)
                }
                return old[known] == message
                    ? nil : MessageDelta(type: .updated, message: message)
            }
    }
}

extension [Timeline.Changes] {
    /// What these steps changed, each message once.
    func deltas(from old: Timeline, to new: Timeline) -> [MessageDelta] {
        var seen: Set<String> = []
        var deltas: [MessageDelta] = []
        func note(_ id: String) {
            guard seen.insert(id).inserted else { return }
            let was = old.index(of: id).map { old[$0] }
            switch (was, new.index(of: id).map { new[$0] }) {
            case (let message?, nil): deltas.append(.init(type: .deleted, message: message))
            case (nil, let message?): deltas.append(.init(type: .inserted, message: message))
            case (.some, let message?): deltas.append(.init(type: .updated, message: message))
            case (nil, nil): break
            }
        }
        for step in self {
            for item in step.deleted { note(item.id) }
            for item in step.inserted { note(item.id) }
            for item in step.moved { note(item.id) }
            for item in step.updated { note(item.id) }
        }
        return deltas
    }
}
