import ClientCore
import Wire

/// What the objects for views stand on: a window that follows a conversation's subscription, on the
/// main actor, and asks for pages by the one rule for loading (`nextLoad`). It says which places it
/// looks at, so that the client keeps them.
@MainActor
final class ConversationFeed {
    /// More is fetched when fewer rows than this lie between the view and what is missing.
    static let preload = 50

    let link: any FeedLink
    let conversation: String
    private(set) var window: MessageWindow
    /// Called with each update, the window as it was before, and what a view has to do.
    var onUpdate: ((ConversationUpdate, MessageWindow, MessageWindow.Effect) -> Void)?
    /// Changes an update before the window takes it; nil leaves it out.
    var filter: ((ConversationUpdate) -> ConversationUpdate?)?
    private(set) var loads = PageLoads()
    /// Why the subscription has ended for good; nil while it lasts.
    private(set) var ending: Ending?
    /// The newest place held when the connection was lost, or the view left; nil once a face has
    /// seen to it.
    private(set) var heldBefore: Int?
    /// Whether the view moved to older messages lately.
    private(set) var isUpward = true
    /// The ends of what the view shows: indices change, messages stay.
    private var seen: (first: String, last: String)?
    /// The rows that the view wants to show, before there are any.
    private var wanted: Range<Int>?
    /// What is shown again if a jump fails.
    private var parked: MessageWindow?
    private var following: (any Following)?
    private var reported = Coverage()

    init(_ link: any FeedLink, _ conversation: String, reader: String?) {
        self.link = link
        self.conversation = conversation
        window = MessageWindow(conversation: conversation, reader: reader)
    }

    isolated deinit { following?.end() }

    var isRunning: Bool { following != nil }

    /// Follows the conversation until `stop`.
    /// - Parameter limit: How many messages it begins with.
    func start(limit: Int) {
        guard following == nil else { return }
        ending = nil
        window.opening = PageLimit.nearest(limit)
        following = link.follow(conversation, limit: window.opening) { [weak self] in
            self?.take($0)
        }
    }

    /// Follows it no more; what the window shows stays.
    func stop() {
        following?.end()
        following = nil
        reported = []
        giveUpJump()
        if window.isLive { take(.live(false)) }
        loads.dropUnderWay()
    }

    /// Changes the window itself.
    func change(_ body: (inout MessageWindow) -> Void) {
        body(&window)
        report()
    }

    func take(_ update: ConversationUpdate) {
        guard let update = filter.map({ $0(update) }) ?? update else { return }
        var isRestored = false
        if case .live(false) = update, loads.underWay[.initial] != nil {
            // The answer to a jump will not come: show what was there before it.
            isRestored = giveUpJump()
        }
        let before = window
        var effect = window.take(update, visible: visible)
        effect.isReload = effect.isReload || isRestored
        _ = parked?.take(update)
        switch update {
        case .page(let token, let result): pageCame(token, result, before, &effect)
        case .began where effect.isReload, .forgotten:
            loads.dropUnderWay()
            loads.forgetSpent()
            parked = nil
        case .live(let isLive):
            loads.forgetSpent()
            if !isLive {
                loads.dropUnderWay()
                heldBefore = heldBefore ?? before.timeline.coverage.last
            }
        case .ended(let reason): ending = reason
        case .open: loads.forgetSpent()
        default: break
        }
        report()
        onUpdate?(update, before, effect)
    }

    private func pageCame(
        _ token: Int, _ result: Result<MessagesFrame, ClientError>, _ before: MessageWindow,
        _ effect: inout MessageWindow.Effect
    ) {
        guard !window.awaits(token), let (isJump, load) = loads.end(token) else { return }
        if isJump {
            if case .success = result { parked = nil } else { effect.isReload = giveUpJump() }
        } else if let load, window.timeline.coverage == before.timeline.coverage {
            switch result {
            case .failure(.disconnected): break
            case .failure: loads.noteFailure(load)
            case .success: loads.noteNothing(load)
            }
        }
    }

    private func report() {
        let places = window.timeline.coverage.union(parked?.timeline.coverage ?? [])
        guard let following, places != reported else { return }
        reported = places
        following.watch(places)
    }

    /// A face has seen to what was missed.
    func forgetHeldBefore() { heldBefore = nil }

    // MARK: What the view shows

    /// The indices that the view shows; nil if it never said, or if all of that is gone.
    var visible: Range<Int>? {
        let count = window.timeline.count
        guard let seen else {
            let rows = wanted?.clamped(to: 0..<count)
            return rows?.isEmpty == false ? rows : nil
        }
        guard let first = window.timeline.index(of: seen.first),
            let last = window.timeline.index(of: seen.last), first <= last
        else { return nil }
        return first..<last + 1
    }

    /// The view shows these messages now.
    func show(first: Int, last: Int) {
        let timeline = window.timeline
        wanted = first..<last + 1
        seen = last < timeline.count ? seen : nil
        guard last < timeline.count else { return }
        if let old = seen.flatMap({ timeline.index(of: $0.first) }), old != first {
            isUpward = first < old
        }
        seen = (timeline[first].id, timeline[last].id)
    }

    // MARK: Loading

    /// Asks for a page, unless one is under way at that place.
    /// - Returns: whether it was asked for.
    private func fetch(
        _ place: PageLoads.Place, _ kind: Timeline.Page.Kind, _ page: PageRequest,
        _ load: Load? = nil
    ) -> Bool {
        guard let following, loads.mayBegin(place), window.isLive, ending == nil else {
            return false
        }
        let token = PageToken.next()
        loads.begin(place, load, token: token)
        window.ask(kind, as: token)
        following.fetch(page, token: token)
        return true
    }

    /// Clears the window and opens it anew around a place. What was there comes back if that fails.
    /// - Returns: false if there is nobody to ask; then everything stays.
    func jump(to anchor: Anchor, limit: Int) -> Bool {
        guard window.isLive, ending == nil else { return false }
        if parked == nil { parked = window }
        loads.dropUnderWay()
        loads.forgetSpent()
        let before = window
        let effect = window.clear()
        onUpdate?(.forgotten, before, effect)
        return fetch(
            .initial, .initial, PageRequest(around: anchor, limit: PageLimit.nearest(limit)))
    }

    /// - Returns: whether there was one, so that what was there before is shown again.
    @discardableResult
    private func giveUpJump() -> Bool {
        guard let parked else { return false }
        window = parked
        self.parked = nil
        return true
    }

    /// Asks for what the view needs next, first in the direction in which it moves, as far as that
    /// is near. It leaves out what an earlier request did not bring: a layout is no reason to ask
    /// again.
    @discardableResult
    func loadNear(limit: Int) -> Bool {
        guard let visible, let places = places(of: visible) else { return false }
        let wants: [LoadWant] = [.up(places), .down(places)]
        var isLoading = false
        for want in isUpward ? wants : wants.reversed() {
            guard let load = nextLoad(for: want, in: window.known), isNear(load, to: visible),
                loads.mayBring(load)
            else { continue }
            isLoading = self.load(load, limit: limit) || isLoading
        }
        return isLoading
    }

    /// Asks for what somebody wants, also if it came to nothing before.
    @discardableResult
    func load(_ want: LoadWant, limit: Int) -> Bool {
        nextLoad(for: want, in: window.known).map { load($0, limit: limit) } ?? false
    }

    /// The places of the first and the last of some rows.
    func places(of rows: Range<Int>) -> ClosedRange<Int>? {
        let timeline = window.timeline
        let placed = rows.clamped(to: 0..<timeline.count).compactMap { timeline[$0].seq }
        guard let first = placed.first, let last = placed.last else { return nil }
        return first...max(first, last)
    }

    /// Whether few rows lie between the view and what a load would bring.
    private func isNear(_ load: Load, to visible: Range<Int>) -> Bool {
        let timeline = window.timeline
        let top = load.after.map { timeline.firstIndex(from: $0 + 1) } ?? 0
        let bottom = load.before.map { timeline.firstIndex(from: $0) } ?? timeline.count
        let isHistory = load.after == nil && load.before != nil
        return (isHistory ? bottom : top) < visible.upperBound + Self.preload
            && bottom > visible.lowerBound - Self.preload
    }

    private func load(_ load: Load, limit: Int) -> Bool {
        let page = PageRequest(
            before: load.before.map(Anchor.seq), after: load.after.map(Anchor.seq),
            around: load.around.map(Anchor.seq), limit: PageLimit.nearest(limit),
            order: load.order == .asc ? .asc : .desc)
        switch (load.after, load.before, load.order) {
        case (nil, let before?, _): return fetch(.older, .before(.seq(before)), page, load)
        case (let after?, nil, _): return fetch(.newer, .after(.seq(after)), page, load)
        case (let after?, _, .asc): return fetch(.gap, .after(.seq(after)), page, load)
        case (_, let before?, _): return fetch(.gap, .before(.seq(before)), page, load)
        case (nil, nil, _):
            return fetch(.newer, window.timeline.isLoaded ? .latest : .initial, page, load)
        }
    }
}
