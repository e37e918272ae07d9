import Chat
import TestSupport

@testable import GaplessClient
@testable import ClientCore

/// An object for views with somebody who uses it, and what is known of it from outside.
@MainActor
protocol JudgedFace: AnyObject {
    var feed: ConversationFeed { get }
    var face: any ConversationFace { get }
    var rows: [Message] { get }
    var gaps: [Timeline.Gap] { get }
    var hasMore: Timeline.HasMore { get }
    var limit: Int { get }
    func open()
    func close()
    func top()
    func bottom()
    func scroll(_ part: Int)
    func jump(_ log: ModelLog, _ part: Int)
    func shrink(_ part: Int)
    /// What this kind alone promises.
    func judgeItself(_ log: ModelLog) throws
}

extension JudgedFace {
    func scroll(_ part: Int) {}
    func jump(_ log: ModelLog, _ part: Int) {}
    func shrink(_ part: Int) {}
    func judgeItself(_ log: ModelLog) throws {}

    /// After any update: no silent hole, no row twice, and no value that never was.
    func judge(_ log: ModelLog, _ written: WrittenByUser) throws {
        guard Set(self.rows.map(\.id)).count == self.rows.count else {
            throw TestFailure("a row is there twice")
        }
        let rows = rows.filter { $0.seq != nil }
        let missing = Coverage(gaps.compactMap(\.places))
        for (older, newer) in zip(rows, rows.dropFirst()) {
            guard let low = older.seq, let high = newer.seq, low < high else {
                throw TestFailure("rows out of order")
            }
            let isSaid = missing.contains(low, high) || missing.contains(low + 1, high - 1)
            guard high == low + 1 || isSaid else {
                throw TestFailure("a silent hole between \(low) and \(high)")
            }
        }
        for index in 0..<feed.window.timeline.count where feed.window.timeline.isHeld(at: index) {
            let message = feed.window.timeline[index]
            guard let seq = message.seq, let rev = message.rev else {
                throw TestFailure("a message without a place is held")
            }
            guard message.isDeleted || written.isOfUser(message) || message.isOfLog(seq, rev)
            else { throw TestFailure("\(seq) has a value that never was") }
        }
        try judgeItself(log)
    }

    /// When all is quiet: from the oldest row on, what the log has.
    func judgeRest(_ log: ModelLog, _ written: WrittenByUser, _ name: String) throws {
        try judge(log, written)
        guard !hasMore.after, gaps.isEmpty else {
            throw TestFailure("\(name) is not whole: \(gaps.map(\.places))")
        }
        let rows = rows.filter { $0.seq != nil }
        let low = rows.first?.seq ?? log.seq + 1
        let timeline = feed.window.timeline
        guard low <= log.seq || log.seq < log.floor else { throw TestFailure("\(name) is empty") }
        guard low >= log.floor || rows.isEmpty, rows.count == log.seq - low + 1 else {
            throw TestFailure("\(name) has \(rows.count) rows from \(low) of \(log.seq)")
        }
        for (at, row) in rows.enumerated() {
            guard row.id == log.id(low + at), let entry = log.entry(low + at),
                row.rev == entry.rev, row.isDeleted == entry.isDeleted, timeline.isHeld(at: at),
                row.isDeleted || row.body == entry.body
            else { throw TestFailure("\(name) has an old value of \(low + at)") }
        }
        guard hasMore.before == (low > log.floor) else {
            throw TestFailure("\(name) says \(hasMore) at \(low), the floor is \(log.floor)")
        }
    }
}

final class JudgedList: JudgedFace, ManagedMessageListDelegate {
    let list: ManagedMessageList
    let limit: Int
    private var table: Set<String> = []
    private var fault: String?
    /// What the reader looks at, until they scroll on: its id, its place, and the life of the log
    /// that the list shows.
    private var place: (id: String, seq: Int, life: String)?
    private var life: String { feed.window.head?.mark ?? "" }

    init(_ link: any FeedLink, limit: Int, syncs: Bool = true) {
        self.limit = limit
        list = ManagedMessageList(link, conversation: "c", reader: "alice", delegate: nil)
        list.fetchLimit = limit
        list.syncOnReconnect = syncs
        list.delegate = self
    }

    var feed: ConversationFeed { list.feed }
    var face: any ConversationFace { list }
    var rows: [Message] { (0..<list.messageCount()).map(list.messageAt) }
    var gaps: [Timeline.Gap] { list.gaps }
    var hasMore: Timeline.HasMore { list.hasMore }

    func open() { list.online() }
    func close() { list.offline() }
    func top() { list.scrollViewDidReachTop() }

    func bottom() {
        let count = list.messageCount()
        if count > 0 { look(max(0, count - 10), count - 1) }
        list.scrollViewDidReachBottom()
    }

    func scroll(_ part: Int) {
        let count = list.messageCount()
        guard count > 0 else { return }
        let first = (count - 1) * part / 1_000
        look(first, min(count - 1, first + 10))
    }

    private func look(_ first: Int, _ last: Int) {
        let message = list.messageAt(first)
        place = message.seq.map { (message.id, $0, life) }
        list.scrollViewDidScroll(firstVisible: first, lastVisible: last)
    }

    func managedMessageListDidChange(messageDeltas: [MessageDelta]) {
        for delta in messageDeltas {
            let id = delta.message.id
            switch delta.type {
            case .inserted where !table.insert(id).inserted: fault = "\(id) is inserted twice"
            case .updated where !table.contains(id): fault = "\(id) was not there to be updated"
            case .deleted where !table.contains(id) || !delta.message.isDeleted:
                fault = "\(id) was not there to be deleted"
            case .trimmed:
                if table.remove(id) == nil { fault = "\(id) was not there to be trimmed" }
            default: break
            }
        }
    }

    func judgeItself(_ log: ModelLog) throws {
        if let fault { throw TestFailure(fault) }
        guard table == Set(rows.map(\.id)) else {
            throw TestFailure("the deltas do not lead to the rows")
        }
        guard let place, feed.window.timeline.index(of: place.id) == nil else { return }
        // Only what the log dropped, or a log that began anew, takes the reader's place away.
        let isDropped = place.seq < feed.window.head?.floor ?? 1
        if log.isOfSameLife(place.life), !isDropped, feed.window.timeline.isLoaded {
            throw TestFailure("the reader's place \(place.id) is gone")
        }
        self.place = nil
    }
}

final class JudgedHistory: JudgedFace {
    let history: History
    let limit: Int

    init(_ link: any FeedLink, limit: Int, seen: Int) {
        self.limit = limit
        let scenario = HistoryScenario(lastSeen: seen, lastMessage: 300, lastMessageTime: nil)
        history = History(link, conversation: "c", opening: scenario, reader: "alice")
        history.count = limit
    }

    var feed: ConversationFeed { history.feed }
    var face: any ConversationFace { history }
    var rows: [Message] { history.messages }
    var gaps: [Timeline.Gap] { history.gaps }
    var hasMore: Timeline.HasMore { history.hasMore }

    func open() { history.open() }
    func close() { history.close() }
    func top() { history.scrolledToTop() }
    func bottom() { history.scrolledToBottom() }

    func jump(_ log: ModelLog, _ part: Int) {
        // Beyond the end there is nothing: such a jump fails, and keeps what is there.
        let seq = log.seq * part / 1_000 + 1
        history.move(to: log.id(seq))
    }

    func judgeItself(_ log: ModelLog) throws {
        if history.loading.center, feed.window.isLive, feed.loads.underWay[.initial] == nil,
            feed.window.timeline.isLoaded
        {
            throw TestFailure("it shows that it loads, and does not")
        }
    }
}

final class JudgedSource: JudgedFace {
    let source: ChatDataSource
    let limit: Int

    init(_ link: any FeedLink, limit: Int) {
        self.limit = limit
        source = ChatDataSource(link, conversation: "c", reader: "alice", pageSize: limit)
    }

    var feed: ConversationFeed { source.feed }
    var face: any ConversationFace { source }
    var rows: [Message] { source.chatItems.compactMap { ($0 as? MessageItem)?.message } }
    var gaps: [Timeline.Gap] { source.gaps }
    var hasMore: Timeline.HasMore {
        Timeline.HasMore(before: source.hasMorePrevious, after: source.hasMoreNext)
    }

    func open() {}
    func close() {}
    func top() { source.loadPrevious() }
    func bottom() { source.loadNext() }

    func shrink(_ part: Int) {
        source.adjustNumberOfMessages(
            preferredMaxCount: part, focusPosition: Double(part % 11) / 10
        ) { _ in }
    }
}
