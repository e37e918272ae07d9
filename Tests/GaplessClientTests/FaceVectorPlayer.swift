import Chat
import Testing

import enum TestSupport.JSONValue

@testable import GaplessClient

/// One object for views with its reader, played by a case of faces.json.
@MainActor
final class FaceVectorPlayer {
    /// Any of the three objects, opened, walked and read in the same words.
    @MainActor private protocol Face: AnyObject {
        func open()
        func close()
        func top()
        func bottom()
        func jump(to message: String)
        var rows: [Message] { get }
        var gaps: [Timeline.Gap] { get }
        var hasMore: Timeline.HasMore { get }
        var banner: String? { get }
        var ending: Ending? { get }
        var told: String? { get }
    }

    private let client = ModelClient()
    private let face: any Face

    init(_ vector: JSONValue) throws {
        let count = vector["count"].int ?? 0
        client.gateway.write(vector["log"]["messages"].int ?? 0)
        switch vector["face"].string {
        case "list":
            let list = ListFace(client, count)
            list.list.syncOnReconnect = vector["syncOnReconnect"] != false
            list.list.subscribeNewMessages = vector["subscribeNewMessages"] != false
            face = list
        case "history":
            let opening = HistoryScenario(
                lastSeen: vector["log"]["read"].int, lastMessage: client.gateway.log.seq,
                lastMessageTime: nil)
            face = HistoryFace(client, count, opening)
        default: face = SourceFace(client, count)
        }
        client.perform { $0.open($1) }
        try client.exchange()
    }

    // MARK: What happens

    func take(_ step: JSONValue) throws {
        if let deed = step["do"].string {
            for _ in 0..<(step["times"].int ?? 1) {
                perform(deed, step["to"].int ?? 0)
                try client.exchange()
            }
        } else if let code = step["refuse"].string {
            client.gateway.refusing = (code, code != "origin_unavailable")
        } else if let reason = step["end"].string {
            client.gateway.end(reason)
        } else if step["outage"] != .null {
            client.cut()
            change(step["outage"])
            client.mend()
        } else {
            change(step)
        }
        try client.exchange()
    }

    private func perform(_ deed: String, _ place: Int) {
        switch deed {
        case "open": face.open()
        case "close": face.close()
        case "top": face.top()
        case "bottom": face.bottom()
        case "jump": face.jump(to: client.gateway.log.id(place))
        default: Issue.record("nobody does \(deed)")
        }
    }

    private func change(_ step: JSONValue) {
        var count = step["say"].int ?? 0
        if let place = step["rewind"].int, let entry = client.gateway.log.entry(place) {
            // It writes one at once.
            client.gateway.rewind(to: entry.rev)
            count -= 1
        }
        client.gateway.write(count)
        for seq in step["edit"].ints { client.gateway.change(seq, delete: false, body: "edited") }
        for seq in step["delete"].ints { client.gateway.change(seq, delete: true) }
    }

    // MARK: What must be so

    func check(_ step: JSONValue, _ at: Int) {
        let rows = face.rows
        let places = Coverage(places: rows.compactMap(\.seq))
        if step["rows"] != .null { #expect(places.json == step["rows"], "step \(at)") }
        #expect(places.count == rows.count, "step \(at)")
        if step["gaps"] != .null {
            let gaps = face.gaps.compactMap(\.places).map { run in
                JSONValue.array([.int(run.low - 1), .int(run.high + 1)])
            }
            #expect(.array(gaps) == step["gaps"], "step \(at)")
        }
        if step["hasMore"] != .null {
            let more = Timeline.HasMore(
                before: step["hasMore"]["before"] == true, after: step["hasMore"]["after"] == true)
            #expect(face.hasMore == more, "step \(at)")
        }
        if let banner = step["banner"].int {
            #expect(rows.first { $0.id == face.banner }?.seq == banner, "step \(at)")
        }
        for seq in step["edited"].ints {
            #expect(rows.first { $0.seq == seq }?.body == "edited", "step \(at)")
        }
        for seq in step["deleted"].ints {
            #expect(rows.first { $0.seq == seq }?.isDeleted == true, "step \(at)")
        }
        if let reason = step["ending"].string {
            #expect(face.ending?.reason == reason, "step \(at)")
        }
        if let reason = step["told"].string { #expect(face.told == reason, "step \(at)") }
    }
}

extension FaceVectorPlayer {
    private final class ListFace: Face, ManagedMessageListDelegate {
        let list: ManagedMessageList
        private(set) var told: String?

        init(_ link: any FeedLink, _ count: Int) {
            list = ManagedMessageList(link, conversation: "c", reader: "alice", delegate: nil)
            list.fetchLimit = count
            list.delegate = self
        }

        func managedMessageListDidChange(messageDeltas: [MessageDelta]) {}
        func managedMessageListDidEnd(reason: Ending) { told = reason.reason }
        func open() { list.online() }
        func close() { list.offline() }
        func top() { list.scrollViewDidReachTop() }
        func bottom() { list.scrollViewDidReachBottom() }
        func jump(to message: String) { Issue.record("a list does not jump") }
        var rows: [Message] { (0..<list.messageCount()).map(list.messageAt) }
        var gaps: [Timeline.Gap] { list.gaps }
        var hasMore: Timeline.HasMore { list.hasMore }
        var banner: String? { nil }
        var ending: Ending? { list.ending }
    }

    private final class HistoryFace: Face, HistoryDelegate {
        let history: History
        private(set) var told: String?

        init(_ link: any FeedLink, _ count: Int, _ opening: HistoryScenario) {
            history = History(link, conversation: "c", opening: opening, reader: "alice")
            history.count = count
            history.delegate = self
        }

        func historyDidChange(_ history: History) {}
        func history(_ history: History, moveTo message: String, highlight: Bool) {}
        func historyDidEnd(reason: Ending) { told = reason.reason }
        func open() { history.open() }
        func close() { history.close() }
        func top() { history.scrolledToTop() }
        func bottom() { history.scrolledToBottom() }
        func jump(to message: String) { history.move(to: message) }
        var rows: [Message] { history.messages }
        var gaps: [Timeline.Gap] { history.gaps }
        var hasMore: Timeline.HasMore { history.hasMore }
        var banner: String? { history.unreadBannerAfter }
        var ending: Ending? { history.ending }
    }

    private final class SourceFace: Face, ChatDataSourceDelegateProtocol {
        private let link: any FeedLink
        private let count: Int
        private var source: ChatDataSource?
        private(set) var told: String?

        init(_ link: any FeedLink, _ count: Int) {
            self.link = link
            self.count = count
        }

        func chatDataSourceDidUpdate(
            _ chatDataSource: any ChatDataSourceProtocol, updateType: UpdateType
        ) {}
        func chatDataSourceDidEnd(reason: Ending) { told = reason.reason }
        func open() {
            source = ChatDataSource(link, conversation: "c", reader: "alice", pageSize: count)
            source?.delegate = self
        }
        func close() { source = nil }
        func top() { source?.loadPrevious() }
        func bottom() { source?.loadNext() }
        func jump(to message: String) { Issue.record("a data source does not jump") }
        var rows: [Message] {
            (source?.chatItems ?? []).compactMap { ($0 as? MessageItem)?.message }
        }
        var gaps: [Timeline.Gap] { source?.gaps ?? [] }
        var hasMore: Timeline.HasMore {
            Timeline.HasMore(
                before: source?.hasMorePrevious ?? false, after: source?.hasMoreNext ?? false)
        }
        var banner: String? { nil }
        var ending: Ending? { source?.ending }
    }
}

extension JSONValue {
    /// The numbers of an array; none if there is none.
    fileprivate var ints: [Int] { (array ?? []).compactMap(\.int) }
}

extension Coverage {
    /// As the vectors write it.
    fileprivate var json: JSONValue {
        .array(runs.map { .array([.int($0.low), .int($0.high)]) })
    }
}
