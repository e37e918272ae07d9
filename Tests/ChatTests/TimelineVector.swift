import Chat
import TestSupport
import Testing

/// A case of a vector file that the tests of the JavaScript client read too, and the short forms in
/// which these files write messages.
struct TimelineVector: Sendable, CustomTestStringConvertible {
    let value: JSONValue
    var name: String { value["name"].string ?? "" }
    var testDescription: String { name }

    /// The cases of a file; none where it can't be read, which a test of their number tells.
    static func cases(of file: String) -> [TimelineVector] {
        Vectors.cases(of: file).map { TimelineVector(value: $0) }
    }

    /// Numbers, ranges and objects, one by one.
    static func each(_ list: JSONValue) -> [JSONValue] {
        (list.array ?? []).flatMap { item -> [JSONValue] in
            guard let low = item[0].int, let high = item[1].int else { return [item] }
            return (low...max(low, high)).map { .int($0) }
        }
    }

    func messages(_ list: JSONValue) -> [Message] { Self.each(list).map { message($0) } }

    func message(_ item: JSONValue) -> Message {
        let id = item.int.map(String.init) ?? item["id"].string ?? ""
        let number = item["seq"].int ?? Int(id)
        let seq = item.object?["seq"] == .null ? nil : number
        let second = item["at"].int ?? number ?? 0
        var message = Message(
            id: id, conversation: item["conversation"].string ?? "c", seq: seq,
            rev: seq == nil ? nil : item["rev"].int ?? seq,
            author: item["author"].string ?? "alice", body: item["body"].string,
            createdAt: Timestamp(milliseconds: Int64(second) * 1_000))
        if item["deleted"].bool == true { message = message.tombstone }
        return message
    }

    func delta(_ item: JSONValue) -> MessageDelta {
        MessageDelta(
            type: item["type"].string.flatMap(DeltaKind.init(rawValue:)) ?? .inserted,
            via: item["via"].string.flatMap(MessageDelta.Via.init(rawValue:)),
            message: message(item))
    }

    static func coverage(_ list: JSONValue) -> Coverage {
        Coverage(
            (list.array ?? []).map { Coverage.Run($0[0].int ?? 0, $0[1].int ?? 0) })
    }
}

extension TimelineVector {
    /// Gives a timeline one step.
    func step(_ step: JSONValue, _ timeline: inout Timeline) -> Timeline.Changes {
        if step["page"] != .null {
            let visible = step["visible"].array.map { ($0[0].int ?? 0)..<($0[1].int ?? 0) }
            return timeline.apply(page(step["page"]), visible: visible)
        }
        if let deltas = step["deltas"].array {
            return timeline.apply(
                Self.each(.array(deltas)).map { delta($0) },
                covers: step["covers"].array.map { Self.coverage(.array($0)) },
                gaps: Self.coverage(step["lost"]), head: step["head"].int,
                floor: step["floor"].int ?? 1)
        }
        if step["show"] != .null { return timeline.show(messages(step["show"])) }
        if let id = step["hide"].string { return timeline.hide(id) }
        if let count = step["trimTo"].int {
            var focus = Double(step["focus"].int ?? 0)
            if case .double(let part) = step["focus"] { focus = part }
            return timeline.trim(to: count, focus: focus)
        }
        if let read = step["read"].int {
            return timeline.setRead(upTo: read, unread: step["unreadCount"].int)
        }
        if let index = step["view"].int { timeline.viewPassed(index) }
        return step["reset"].bool == true ? timeline.reset() : Timeline.Changes()
    }

    private func page(_ item: JSONValue) -> Timeline.Page {
        let anchor: Timeline.Page.Anchor =
            item["anchor"].int.map { .seq($0) } ?? .id(item["anchor"].string ?? "")
        let kind: Timeline.Page.Kind =
            switch item["kind"].string {
            case "initial": .initial
            case "latest": .latest
            case "before": .before(anchor)
            case "after": .after(anchor)
            default: .around
            }
        let conversation = item["conversation"].string ?? "c"
        let messages = messages(item["items"])
        var page: Timeline.Page
        if let limit = item["limit"].int {
            page = .init(
                kind, of: conversation, messages: messages, limit: limit,
                newestFirst: item["newestFirst"].bool == true)
        } else {
            let more = Timeline.HasMore(
                before: item["hasMore"]["before"].bool == true,
                after: item["hasMore"]["after"].bool == true)
            page = .init(
                kind, of: conversation, messages: messages, hasMore: more,
                covers: item["covers"].array.map { Self.coverage(.array($0)) })
        }
        page.generation = item["generation"].int
        page.head = item["head"].int
        page.asOf = item["asOf"].int
        page.isCached = item["cached"].bool == true
        page.unread = item["unread"].object.map {
            .init(total: $0["total"]?.int ?? 0, after: $0["after"]?.int ?? 0)
        }
        return page
    }
}
