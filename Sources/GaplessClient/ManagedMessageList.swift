import ClientCore
import Wire

/// Who is told when a managed list changes.
@MainActor
public protocol ManagedMessageListDelegate: AnyObject {
    /// The list has changed; read it anew. The deltas say what: a message that was deleted in the
    /// conversation is `deleted`, and keeps its row as a tombstone; one that left the list is
    /// `trimmed`.
    ///
    /// There are none where only the gaps are others.
    func managedMessageListDidChange(messageDeltas: [MessageDelta])
    /// The list can no longer follow the conversation, for this reason.
    func managedMessageListDidEnd(reason: Ending)
}

extension ManagedMessageListDelegate {
    /// Does nothing.
    public func managedMessageListDidEnd(reason: Ending) {}
}

/// The message list of one conversation, ready for a table: it fetches as the reader scrolls,
/// follows what happens, and after an outage knows what it missed.
///
/// It belongs to a view and lives on the main actor. Position 0 is the oldest message; deleted ones
/// keep their row, as tombstones. Messages that are not sent yet stand at the end.
@MainActor
public final class ManagedMessageList {
    /// How many messages are fetched at once, and the list begins with, from 1 to 1,000.
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

    let feed: ConversationFeed
    private var hasAnswered = false

    /// A list that is offline, and empty.
    /// - Parameters:
    ///   - conversation: Which conversation.
    ///   - reader: Who reads: unsent messages are theirs, and their own are never unread.
    ///   - delegate: Who is told when it changes.
    public convenience init(
        _ client: ChatClient, conversation: Conversation, reader: String? = nil,
        delegate: (any ManagedMessageListDelegate)?
    ) {
        self.init(client, conversation: conversation.id, reader: reader, delegate: delegate)
    }

    init(
        _ link: any FeedLink, conversation: String, reader: String?,
        delegate: (any ManagedMessageListDelegate)?
    ) {
        feed = ConversationFeed(link, conversation, reader: reader)
        self.delegate = delegate
        feed.filter = { [weak self] in self?.filtered($0) }
        feed.onUpdate = { [weak self] in self?.updated($0, $1, $2) }
    }

    /// Call it when the view appears and the connection is there; calling it again does nothing.
    public func online() { feed.start(limit: fetchLimit) }

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
    /// known. Between two rows that are no neighbours in the log there always is one.
    public var gaps: [Timeline.Gap] { isShown ? feed.window.gaps : [] }

    /// Whether there are older messages, and newer ones that are not in the list, be it behind its
    /// end or in a gap.
    public var hasMore: Timeline.HasMore { feed.window.hasMore }

    /// Why the list can no longer follow the conversation; nil while it can. `online`, after
    /// `offline`, tries again.
    public var ending: Ending? { feed.ending }

    /// Whether the list follows the conversation now; before that, and in an outage, it only shows
    /// what is held, and fetches nothing.
    public var isLive: Bool { feed.window.isLive }

    /// Whether a page is being fetched.
    public var isFetching: Bool { !feed.loads.underWay.isEmpty }

    // MARK: Scroll view delegate methods

    /// Call it whenever the view has scrolled or was laid out: decides what is fetched next.
    /// - Parameters:
    ///   - first: The first position that is visible.
    ///   - last: The last one.
    public func scrollViewDidScroll(firstVisible first: Int, lastVisible last: Int) {
        guard 0 <= first, first <= last else { return }
        feed.show(first: first, last: last)
        feed.loadNear(limit: fetchLimit)
    }

    /// The view has come to its upper edge.
    public func scrollViewDidReachTop() {
        let rows = feed.visible ?? 0..<min(1, messageCount())
        feed.load(.up(feed.places(of: rows)), limit: fetchLimit)
    }

    /// The view has come to its lower edge.
    public func scrollViewDidReachBottom() {
        let rows = feed.visible ?? max(0, messageCount() - 1)..<messageCount()
        feed.load(.down(feed.places(of: rows)), limit: fetchLimit)
    }

    // MARK: Updates

    private var isShown: Bool { useCache || hasAnswered }

    /// Takes out of an update what this list was told not to follow.
    private func filtered(_ update: ConversationUpdate) -> ConversationUpdate? {
        let timeline = feed.window.timeline
        switch update {
        case .began(var snapshot) where !syncOnReconnect && feed.window.continues(with: snapshot):
            let high = timeline.coverage.last ?? 0
            snapshot.messages.removeAll { $0.seq ?? 0 > high }
            snapshot.covers = snapshot.covers.clipped(0, high)
            return .began(snapshot)
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
        if case .live(true) = update {
            catchUp()
            // Where the view was scrolled to meanwhile, nothing could be fetched.
            feed.loadNear(limit: fetchLimit)
        }
        if case .ended(let reason) = update { delegate?.managedMessageListDidEnd(reason: reason) }
        guard isShown else { return }
        let deltas =
            isReload
            ? feed.window.timeline.deltas(from: before.timeline)
            : effect.steps.deltas(from: before.timeline, to: feed.window.timeline)
        if isReload || !deltas.isEmpty || before.gaps != feed.window.gaps {
            delegate?.managedMessageListDidChange(messageDeltas: deltas)
        }
    }

    /// After an outage, what is next to the last message from before it is fetched, if the reader
    /// was there.
    private func catchUp() {
        guard let held = feed.heldBefore else { return }
        feed.forgetHeldBefore()
        let end = feed.window.timeline.firstIndex(from: held + 1)
        let wasAtEnd = feed.visible.map { $0.upperBound > end - ConversationFeed.preload } ?? true
        if syncOnReconnect, wasAtEnd { feed.load(.banner(held), limit: fetchLimit) }
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
        let trimmed = gone.map { MessageDelta(type: .trimmed, message: $0) }
        return trimmed
            + items.flatMap { message in
                guard let known = old.index(of: message.id) else {
                    return [MessageDelta(type: .inserted, message: message)]
                }
                return old[known] == message ? [] : message.deltas(from: old[known])
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
            case (let message?, nil): deltas.append(.init(type: .trimmed, message: message))
            case (nil, let message?): deltas.append(.init(type: .inserted, message: message))
            case (let was?, let message?): deltas += message.deltas(from: was)
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

extension Message {
    /// What a list that showed another value of it has to be told. A message has an earlier value
    /// again when its log lost the later one. It leaves the list and comes back, because a merge
    /// keeps the newest value.
    fileprivate func deltas(from old: Message) -> [MessageDelta] {
        if let rev, let was = old.rev, rev < was {
            return [
                MessageDelta(type: .trimmed, message: old),
                MessageDelta(type: .inserted, message: self),
            ]
        }
        let type: DeltaKind = isDeleted && !old.isDeleted ? .deleted : .updated
        return [MessageDelta(type: type, message: self)]
    }
}
