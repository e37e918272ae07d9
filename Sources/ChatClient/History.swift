import ClientCore
import Wire

/// Who is told when a history changes.
@MainActor
public protocol HistoryDelegate: AnyObject {
    /// The rows, the banner or a loading state are others.
    func historyDidChange(_ history: History)
    /// The view should move to a message, and not take that for scrolling: set
    /// `isProgrammaticallyScrolling` while it does.
    func history(_ history: History, moveTo message: String, highlight: Bool)
}

/// The history of one conversation, opened and walked by scenarios: 1 with unread messages, 2
/// without, 3 and 4 by scrolling to the top and the bottom, 5 coming back after an outage, 6
/// jumping to a message, 7 to a moment. It belongs to a view and lives on the main actor.
@MainActor
public final class History {
    /// Where something is being loaded.
    public struct Loading: Sendable, Hashable {
        /// Above the first row.
        public var top = false
        /// Below the last row.
        public var bottom = false
        /// In place of all rows.
        public var center = false
    }

    /// How many messages are loaded at once, from 1 to 1,000.
    public var count = 25
    /// The view moves by itself, so that what it passes is no reason to load anything.
    public var isProgrammaticallyScrolling = false
    /// Who is told.
    public weak var delegate: (any HistoryDelegate)?
    /// The message above which everything was seen when the history was opened, or when the
    /// connection came back; nil for no banner. It stands below this message.
    public private(set) var unreadBannerAfter: String?
    /// How the history was opened; nil before that.
    public private(set) var scenario: HistoryScenario?
    /// Requests for pages that were made; a jump to a message that is there makes none.
    public private(set) var requestCount = 0

    private let feed: ConversationFeed
    private let conversation: Conversation
    /// What to move to when its page has come.
    private var target: (message: String?, moment: Timestamp?, highlight: Bool)?
    private var lastBefore: String?
    private var hasOpened = false
    private var isCentered = false

    /// A history that is not opened yet.
    /// - Parameter conversation: As a reply gave it, with the reader's own part.
    public init(_ client: ChatClient, conversation: Conversation, reader: String? = nil) {
        self.conversation = conversation
        feed = ConversationFeed(client, conversation.id, reader: reader, opening: 25)
        feed.onUpdate = { [weak self] update, _, _ in self?.updated(update) }
    }

    /// The messages, oldest first.
    public var messages: [Message] { feed.window.timeline.items }
    /// Whether there are older or newer messages.
    public var hasMore: Timeline.HasMore { feed.window.timeline.hasMore }
    /// Where something is being loaded.
    public var loading: Loading {
        Loading(
            top: feed.underWay[.older] != nil && !isCentered,
            bottom: feed.underWay[.newer] != nil || feed.underWay[.gap] != nil,
            center: isCentered)
    }

    /// Opens the history, by the scenario that fits.
    public func open() {
        guard scenario == nil else { return }
        scenario = HistoryScenario(conversation)
        isCentered = true
        feed.start()
    }

    /// Follows the conversation no more.
    public func close() { feed.stop() }

    /// Scenario 3: the view was scrolled near its top.
    public func scrolledToTop() {
        guard !isProgrammaticallyScrolling else { return }
        load { feed.fetchOlder(limit: count) }
    }

    /// Scenario 4: the view was scrolled near its bottom.
    public func scrolledToBottom() {
        guard !isProgrammaticallyScrolling else { return }
        let end = feed.window.timeline.count
        load { feed.fetchNewer(limit: count) || feed.fillGap(near: end..<end, limit: count) }
    }

    /// Scenario 6: moves to a message. One that is there is moved to at once, without a request;
    /// otherwise everything is cleared and loaded anew around it.
    public func move(to message: String) {
        if feed.window.timeline.index(of: message) != nil {
            delegate?.history(self, moveTo: message, highlight: true)
            return
        }
        target = (message, nil, true)
        jump(to: .id(message))
    }

    /// Scenario 7: moves to a moment.
    public func move(to moment: Timestamp) {
        target = (nil, moment, false)
        jump(to: .time(moment))
    }

    // MARK: Loading

    private func load(_ fetch: () -> Bool) {
        guard fetch() else { return }
        requestCount += 1
        delegate?.historyDidChange(self)
    }

    private func jump(to anchor: Anchor) {
        feed.clear()
        isCentered = true
        load { feed.fetch(.initial, .initial, PageRequest(around: anchor, limit: count)) }
    }

    private func updated(_ update: ConversationUpdate) {
        switch update {
        case .live(true): hasOpened ? cameBack() : opened()
        case .live(false): lastBefore = newestPlaced
        case .page(_, let result): pageCame(result)
        default: break
        }
        delegate?.historyDidChange(self)
    }

    /// The subscription has begun, with the newest messages in the window.
    private func opened() {
        hasOpened = true
        isCentered = false
        switch scenario {
        case .unread(let seen):
            let isHere = feed.window.timeline.coverage.contains(seen)
            guard isHere else { return jump(to: .seq(seen)) }
            showBanner(after: seen)
        case .lastMessageBeforeLastSeen(let moment): move(to: moment)
        case .neverOpened:
            if feed.window.timeline.hasMore.before {
                target = (nil, .earliest, false)
                jump(to: .seq(1))
            } else if let first = messages.first {
                delegate?.history(self, moveTo: first.id, highlight: false)
            }
        case .seen, .empty, nil:
            if let last = messages.last {
                delegate?.history(self, moveTo: last.id, highlight: false)
            }
        }
    }

    /// Scenario 5: the connection came back. What is new has a banner above it, and as much of it
    /// as fits one page is loaded; the rest comes by scrolling.
    private func cameBack() {
        guard let lastBefore, feed.window.timeline.followsEnd else { return }
        if newestPlaced != lastBefore || !feed.window.timeline.gaps.isEmpty {
            unreadBannerAfter = lastBefore
        }
        let end = feed.window.timeline.count
        load { feed.fillGap(near: end..<end, limit: count) }
    }

    private func pageCame(_ result: Result<MessagesFrame, ClientError>) {
        guard case .success(let frame) = result, !frame.isCached else {
            if case .failure = result { isCentered = false }
            return
        }
        guard isCentered else { return }
        isCentered = false
        guard let target else {
            if case .unread(let seen) = scenario { showBanner(after: seen) }
            return
        }
        self.target = nil
        let nearest = target.moment.flatMap { moment in
            (messages.first { $0.createdAt >= moment } ?? messages.last)?.id
        }
        if let message = target.message ?? nearest {
            delegate?.history(self, moveTo: message, highlight: target.highlight)
        }
    }

    private func showBanner(after seen: Int) {
        guard let message = messages.last(where: { $0.seq.map { $0 <= seen } ?? false }) else {
            return
        }
        unreadBannerAfter = message.id
        delegate?.history(self, moveTo: message.id, highlight: false)
    }

    private var newestPlaced: String? { messages.last { $0.seq != nil }?.id }
}
