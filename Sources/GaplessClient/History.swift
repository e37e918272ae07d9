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
    /// The history can no longer follow the conversation, for this reason.
    func historyDidEnd(reason: Ending)
}

extension HistoryDelegate {
    /// Does nothing.
    public func historyDidEnd(reason: Ending) {}
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

        /// Where something is being loaded.
        public init(top: Bool = false, bottom: Bool = false, center: Bool = false) {
            self.top = top
            self.bottom = bottom
            self.center = center
        }
    }

    /// How many messages are loaded at once, and it opens with, from 1 to 1,000.
    public var count = 25
    /// The view moves by itself, so that what it passes is no reason to load anything.
    public var isProgrammaticallyScrolling = false
    /// Who is told.
    public weak var delegate: (any HistoryDelegate)?
    /// How the history was opened; nil before that.
    public private(set) var scenario: HistoryScenario?
    /// Requests for pages that were made; a jump to a message that is there makes none.
    public var requestCount: Int { feed.loads.count }

    let feed: ConversationFeed
    private var opening: HistoryScenario
    /// What to move to when its page has come.
    private var target: (message: String?, moment: Timestamp?, highlight: Bool)?
    /// The newest place that was held, and that of the log, when the connection was lost.
    private var before: (held: Int, head: Int)?
    /// The place up to which all was seen when it was opened, or when the connection came back; nil
    /// for no banner.
    private var seen: Int?
    private var hasOpened = false
    private var isCentered = false
    /// Whether the opening waits for a page of another place than the end.
    private var isOpeningElsewhere = false

    /// A history that is not opened yet.
    /// - Parameter conversation: As a reply gave it, with the reader's own part.
    public convenience init(
        _ client: ChatClient, conversation: Conversation, reader: String? = nil
    ) {
        self.init(
            client, conversation: conversation.id, opening: HistoryScenario(conversation),
            reader: reader)
    }

    init(
        _ link: any FeedLink, conversation: String, opening: HistoryScenario, reader: String?
    ) {
        self.opening = opening
        feed = ConversationFeed(link, conversation, reader: reader)
        feed.onUpdate = { [weak self] in self?.updated($0, $1, $2) }
    }

    /// The message below which the banner stands: up to there all was seen when the history was
    /// opened, or when the connection came back. Nil if that message is not here, or for no banner.
    public var unreadBannerAfter: String? { seen.flatMap { message(at: $0) } }
    /// The message above which the banner stands: the first that was not seen. Nil if that is not
    /// here, or for no banner. Where the log lost what was seen, there is only this one.
    public var unreadBannerBefore: String? { seen.flatMap { message(at: $0 + 1) } }
    /// The messages, oldest first.
    public var messages: [Message] { feed.window.timeline.items }
    /// The holes of the list: before which message, and how many are missing if that is known.
    /// Between two messages that are no neighbours in the log there always is one.
    public var gaps: [Timeline.Gap] { feed.window.gaps }
    /// Whether there are older messages, and newer ones that are not here, be it behind the end or
    /// in a gap.
    public var hasMore: Timeline.HasMore { feed.window.hasMore }
    /// Why the history can no longer follow the conversation; nil while it can.
    public var ending: Ending? { feed.ending }
    /// Where something is being loaded.
    public var loading: Loading {
        Loading(
            top: feed.loads.underWay[.older] != nil && !isCentered,
            bottom: feed.loads.underWay[.newer] != nil || feed.loads.underWay[.gap] != nil,
            center: isCentered)
    }

    /// Opens the history, by the scenario that fits. One that was closed goes on where it was, as
    /// after an outage: what is new has a banner above it.
    public func open() {
        if ending != nil {
            // What it ended with is gone, and with it the place.
            close()
            (hasOpened, before, seen) = (false, nil, nil)
        }
        guard !feed.isRunning else { return }
        scenario = opening
        isCentered = !hasOpened
        feed.start(limit: count)
    }

    /// Opens it anew by the scenario that fits what a later reply gave.
    /// - Parameter conversation: With the reader's own part.
    public func open(_ conversation: Conversation) {
        close()
        opening = HistoryScenario(conversation)
        (hasOpened, before, seen) = (false, nil, nil)
        open()
    }

    /// Follows the conversation no more; `open` does again.
    public func close() { feed.stop() }

    /// Scenario 3: the view was scrolled near its top.
    public func scrolledToTop() {
        guard !isProgrammaticallyScrolling else { return }
        load(.up(feed.places(of: 0..<min(1, messages.count))))
    }

    /// Scenario 4: the view was scrolled near its bottom. The gaps that are left are filled too,
    /// the oldest first.
    public func scrolledToBottom() {
        guard !isProgrammaticallyScrolling else { return }
        load(.down(nil))
    }

    /// Scenario 6: moves to a message. One that is there is moved to at once, without a request;
    /// otherwise everything is cleared and loaded anew around it. If that fails, or there is no
    /// connection, what was there stays.
    public func move(to message: String) {
        if feed.window.timeline.index(of: message) != nil {
            delegate?.history(self, moveTo: message, highlight: true)
            return
        }
        jump(to: .id(message), (message, nil, true))
    }

    /// Scenario 7: moves to a moment.
    public func move(to moment: Timestamp) { jump(to: .time(moment), (nil, moment, false)) }

    // MARK: Loading

    private func load(_ want: LoadWant) {
        if feed.load(want, limit: count) { delegate?.historyDidChange(self) }
    }

    private func jump(
        to anchor: Anchor, _ target: (message: String?, moment: Timestamp?, highlight: Bool)?
    ) {
        guard feed.jump(to: anchor, limit: count) else { return }
        isOpeningElsewhere = false
        self.target = target
        isCentered = true
        delegate?.historyDidChange(self)
    }

    private func updated(
        _ update: ConversationUpdate, _ old: MessageWindow, _ effect: MessageWindow.Effect
    ) {
        switch update {
        case .live(true): hasOpened ? cameBack() : opened()
        case .live(false):
            // An opening that did not come to its end begins again with the next connection.
            hasOpened = hasOpened && !isOpeningElsewhere
            isOpeningElsewhere = false
            isCentered = isCentered && !hasOpened
            if before == nil, let held = old.timeline.coverage.last, let head = old.head {
                before = (held, head.seq)
            }
        case .page(_, let result): pageCame(result)
        case .began where effect.isReload:
            isCentered = isCentered && !hasOpened
            // A place in another log.
            (before, seen) = (nil, nil)
        case .ended(let reason):
            isCentered = false
            isOpeningElsewhere = false
            delegate?.historyDidEnd(reason: reason)
        default: break
        }
        delegate?.historyDidChange(self)
    }

    /// The subscription has begun, with the newest messages in the window.
    private func opened() {
        hasOpened = true
        isCentered = false
        let floor = feed.window.head?.floor ?? 1
        switch scenario {
        case .unread(let lastSeen):
            let place = max(lastSeen, floor)
            let isHere = feed.window.timeline.coverage.contains(place)
            guard isHere else { return open(at: .seq(place), nil) }
            showBanner(after: lastSeen)
        case .lastMessageBeforeLastSeen(let moment): open(at: .time(moment), moment)
        case .neverOpened:
            if feed.window.timeline.hasMore.before {
                open(at: .seq(floor), .earliest)
            } else if let first = messages.first {
                delegate?.history(self, moveTo: first.id, highlight: false)
            }
        case .seen, .empty, nil:
            if let last = messages.last {
                delegate?.history(self, moveTo: last.id, highlight: false)
            }
        }
    }

    /// Opens at another place than the end, and moves to a moment there.
    private func open(at anchor: Anchor, _ moment: Timestamp?) {
        jump(to: anchor, moment.map { (nil, $0, false) })
        isOpeningElsewhere = isCentered
    }

    /// Scenario 5: the connection came back. What is new has a banner above it, and as much of it
    /// as fits one page is loaded; the rest comes by scrolling.
    private func cameBack() {
        guard let before else { return }
        self.before = nil
        let head = feed.window.head?.seq ?? 0
        guard head > before.head, feed.window.timeline.followsEnd else { return }
        seen = max(before.held, (feed.window.head?.floor ?? 1) - 1)
        load(.banner(before.held))
    }

    private func pageCame(_ result: Result<MessagesFrame, ClientError>) {
        // One from before a jump is not what the jump waits for.
        guard isCentered, feed.loads.underWay[.initial] == nil else { return }
        isCentered = false
        isOpeningElsewhere = false
        guard case .success = result else { return target = nil }
        guard let target else {
            if case .unread(let lastSeen) = scenario { showBanner(after: lastSeen) }
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

    private func showBanner(after lastSeen: Int) {
        // What lies below the floor is gone: the banner stands above all that is left.
        seen = max(lastSeen, (feed.window.head?.floor ?? 1) - 1)
        guard let message = unreadBannerAfter ?? unreadBannerBefore else { return }
        delegate?.history(self, moveTo: message, highlight: false)
    }

    /// The id of the message at a place; nil if it is not here.
    private func message(at place: Int) -> String? {
        let timeline = feed.window.timeline
        let index = timeline.firstIndex(from: place)
        guard index < timeline.count, timeline[index].seq == place else { return nil }
        return timeline[index].id
    }
}
