import ClientCore
import Wire

/// What the objects for views stand on: a window that follows a conversation's subscription, on the
/// main actor, and asks for pages. It says which places it looks at, so that the client keeps them.
@MainActor
final class ConversationFeed {
    /// Where a page is asked for.
    enum Place: Hashable {
        case initial, older, newer, gap
    }

    let client: ChatClient
    let conversation: String
    private(set) var window: MessageWindow
    /// The indices that the view shows.
    var visible: Range<Int>?
    /// Called with each update, the window as it was before, and what a view has to do.
    var onUpdate: ((ConversationUpdate, MessageWindow, MessageWindow.Effect) -> Void)?
    /// Changes an update before the window takes it; nil leaves it out.
    var filter: ((ConversationUpdate) -> ConversationUpdate?)?
    private(set) var underWay: [Place: Int] = [:]
    private var number: ListenerNumber?
    private var task: Task<Void, Never>?
    private var reported = Coverage()

    init(_ client: ChatClient, _ conversation: String, reader: String?, opening: Int) {
        self.client = client
        self.conversation = conversation
        window = MessageWindow(conversation: conversation, reader: reader, opening: opening)
    }

    deinit { task?.cancel() }

    var isRunning: Bool { task != nil }

    /// Follows the conversation until `stop`.
    func start() {
        guard task == nil else { return }
        let conversation = conversation
        let (updates, number) = client.listening(
            { $0.listen($1, to: conversation) }, { $0.endListening($1, to: conversation) })
        self.number = number
        task = Task { [weak self] in
            for await update in updates { self?.take(update) }
        }
    }

    /// Follows it no more; what the window shows stays.
    func stop() {
        task?.cancel()
        task = nil
        number = nil
        underWay = [:]
        reported = []
        if window.isLive { take(.live(false)) }
    }

    /// Asks for a page, unless one is under way at that place.
    /// - Returns: whether it was asked for.
    @discardableResult
    func fetch(_ place: Place, _ kind: Timeline.Page.Kind, _ page: PageRequest) -> Bool {
        guard underWay[place] == nil, window.isLive else { return false }
        let token = PageToken.next()
        underWay[place] = token
        window.ask(kind, as: token)
        let conversation = conversation
        client.runner.post { runner in
            runner.perform { session, _ in session.fetch(conversation, page, token: token) }
        }
        return true
    }

    /// Forgets what the window shows, to begin elsewhere.
    func clear() {
        let before = window
        underWay = [:]
        let effect = window.clear()
        onUpdate?(.forgotten, before, effect)
    }

    /// Changes the window itself.
    func change(_ body: (inout MessageWindow) -> Void) {
        body(&window)
        report()
    }

    func take(_ update: ConversationUpdate) {
        guard let update = filter.map({ $0(update) }) ?? update else { return }
        let before = window
        let effect = window.take(update, visible: visible)
        switch update {
        case .page(let token, _) where !window.awaits(token):
            underWay = underWay.filter { $0.value != token }
        case .began, .forgotten, .live(false): underWay = [:]
        default: break
        }
        report()
        onUpdate?(update, before, effect)
    }

    private func report() {
        let places = window.timeline.coverage
        guard let number, places != reported else { return }
        reported = places
        let conversation = conversation
        client.runner.post { runner in
            if let number = number.value { runner.watch(places, number, of: conversation) }
        }
    }

    // MARK: Where pages lie

    /// Asks for what is older than the window.
    @discardableResult
    func fetchOlder(limit: Int) -> Bool {
        guard window.timeline.hasMore.before, let low = window.timeline.coverage.first else {
            return false
        }
        return fetch(.older, .before(.seq(low)), PageRequest(before: .seq(low), limit: limit))
    }

    /// Asks for what is newer than a window that does not follow the end.
    @discardableResult
    func fetchNewer(limit: Int) -> Bool {
        guard window.timeline.hasMore.after, !window.timeline.followsEnd,
            let high = window.timeline.coverage.last
        else { return false }
        let page = PageRequest(after: .seq(high), limit: limit, order: .asc)
        return fetch(.newer, .after(.seq(high)), page)
    }

    /// Asks for the newer end of the newest gap that touches these indices.
    @discardableResult
    func fillGap(near indices: Range<Int>, limit: Int) -> Bool {
        let gap = window.timeline.gaps.last {
            $0.items.lowerBound <= indices.upperBound && $0.items.upperBound >= indices.lowerBound
        }
        guard let places = gap?.places else { return false }
        let page = PageRequest(
            before: .seq(places.high + 1), after: .seq(places.low - 1), limit: limit)
        let covered = window.timeline.coverage
        let kind: Timeline.Page.Kind =
            covered.contains(places.high + 1)
            ? .before(.seq(places.high + 1))
            : covered.contains(places.low - 1) ? .after(.seq(places.low - 1)) : .latest
        return fetch(.gap, kind, page)
    }
}
