import Chat
import JSON
import Ports
import Wire

/// A user's list of conversations. The conversations' rows say who takes part, and a log of joins
/// and departures is beside them; a token holds a place in that log and a digest of all heads, so
/// that changes are found by comparing.
final class PostgresLists: Sendable {
    typealias Listed<Value> = @Sendable (Result<Value, RequestError>) -> Void

    private let pool: PostgresPool
    /// The most bytes in an answer.
    private let bytes: Int

    init(_ pool: PostgresPool, bytes: Int) {
        self.pool = pool
        self.bytes = bytes
    }

    func list(
        of user: String, limit: Int, cursor: String?, then: @escaping Listed<ConversationList>
    ) {
        let behind = cursor.flatMap { ActivityCursor($0) }
        guard cursor == nil || behind != nil else {
            let text = "cursor: not a cursor (accepted: the `next` of an earlier answer)"
            return then(.failure(RequestError(.cursorInvalid, text)))
        }
        var json = JSONWriter()
        json.beginObject()
        json.member("q", string: "list")
        json.member("user", string: user)
        json.member("limit", int: limit)
        json.member("bytes", int: bytes)
        json.key("cursor")
        if let behind {
            json.beginArray()
            json.int(behind.activity)
            json.string(behind.id)
            json.endArray()
        } else {
            json.null()
        }
        json.endObject()
        pool.read(json.bytes) { result in
            then(
                result.flatMap { answer in
                    guard let views = Self.views(answer["views"]) else {
                        return .failure(.unreadable)
                    }
                    let unread = answer["unread"]?.object
                    return .success(
                        ConversationList(
                            conversations: views,
                            next: answer["next"].flatMap { ActivityCursor(postgres: $0) }?.text,
                            total: answer["total"]?.int ?? 0,
                            unread: UnreadTotal(
                                messages: unread?["messages"]?.int ?? 0,
                                conversations: unread?["conversations"]?.int ?? 0,
                                mentions: unread?["mentions"]?.int ?? 0)))
                })
        }
    }

    private static func views(_ value: RawJSON?) -> [ConversationView]? {
        var views: [ConversationView] = []
        for value in value?.array ?? [] {
            guard let id = value.object?["id"]?.string,
                let view = StoredConversation(postgres: value, of: id)
            else { return nil }
            views.append(view.shown)
        }
        return views
    }

    /// The changes of a list since the token.
    func list(
        of user: String, since text: String?, limit: Int,
        then: @escaping Listed<ConversationChanges>
    ) {
        let token = text.flatMap { ListPlaceToken($0) }
        read(of: user, knowing: token) { [self] result in
            do throws(RequestError) {
                let reading = try result.get()
                // A conversation takes at least 512 bytes.
                guard let token, let news = reading.news(since: token),
                    news.entries.count <= bytes / 512
                else { return begin(reading, of: user, limit: limit, then: then) }
                show(news.entries, of: user) { [self] result in
                    if case .success(let views) = result,
                        views.reduce(0, { $0 + $1.size }) > bytes
                    {
                        return begin(reading, of: user, limit: limit, then: then)
                    }
                    then(
                        result.map { views in
                            ConversationChanges(
                                conversations: views, removed: news.removed,
                                total: reading.entries.count, token: reading.token,
                                complete: true, unread: reading.unread, heads: reading.heads)
                        })
                }
            } catch {
                then(.failure(error))
            }
        }
    }

    /// The whole list, for a reader without a valid token.
    private func begin(
        _ reading: ListReading, of user: String, limit: Int,
        then: @escaping Listed<ConversationChanges>
    ) {
        list(of: user, limit: limit, cursor: nil) { result in
            then(
                result.map { list in
                    ConversationChanges(
                        conversations: list.conversations, removed: [], total: list.total,
                        token: reading.token, complete: false, unread: reading.unread,
                        heads: reading.heads)
                })
        }
    }

    /// The views of conversations; those that the user has left meanwhile are skipped.
    private func show(
        _ entries: [ListEntry], of user: String, then: @escaping Listed<[ConversationView]>
    ) {
        guard !entries.isEmpty else { return then(.success([])) }
        var json = JSONWriter()
        json.beginObject()
        json.member("q", string: "views")
        json.member("user", string: user)
        json.member("conversations", strings: entries.map(\.id))
        json.endObject()
        pool.read(json.bytes) { result in
            then(
                result.flatMap { answer in
                    guard let views = Self.views(answer["views"]) else {
                        return .failure(.unreadable)
                    }
                    let shown = Dictionary(
                        views.map { ($0.record.id.id, $0) }, uniquingKeysWith: { $1 })
                    return .success(entries.compactMap { shown[$0.id.id] })
                })
        }
    }

    /// The bytes of a place's mark: those of a row, and those of the server's history.
    private static let markSize = 10

    /// The heads of all conversations of a list.
    func read(
        of user: String, knowing token: ListPlaceToken?, then: @escaping Listed<ListReading>
    ) {
        var json = JSONWriter()
        json.beginObject()
        json.member("q", string: "standing")
        json.member("user", string: user)
        json.key("place")
        if let place = token?.place { json.int(place) } else { json.null() }
        json.member("mark", string: token?.mark)
        json.endObject()
        pool.read(json.bytes) { result in
            then(
                result.flatMap { answer in
                    var entries: [ListEntry] = []
                    // The functions of an earlier version count no mentions.
                    let mentions = (answer["mentions"]?.array ?? []).map { $0.place ?? 0 }
                    for (number, row) in (answer["entries"]?.array ?? []).enumerated() {
                        let count = number < mentions.count ? mentions[number] : 0
                        guard let entry = ListEntry(postgres: row, mentions: count) else {
                            return .failure(.unreadable)
                        }
                        entries.append(entry)
                    }
                    guard let place = answer["place"]?.place,
                        let mark = answer["mark"]?.string.flatMap({ Hexadecimal.bytes($0) })
                    else { return .failure(.unreadable) }
                    return .success(
                        ListReading(
                            entries: entries, place: (place, mark),
                            // The functions of an earlier version don't tell starts apart.
                            isKnown: answer["known"]?.bool == true && mark.count == Self.markSize,
                            gone: (answer["gone"]?.array ?? []).compactMap(\.string)))
                })
        }
    }
}

extension ActivityCursor {
    fileprivate init?(postgres value: RawJSON) {
        guard let parts = value.array, parts.count == 2, let activity = parts[0].int,
            let id = parts[1].string
        else { return nil }
        self.init(activity: Int64(activity), id: id)
    }
}

extension ListEntry {
    fileprivate init?(postgres value: RawJSON, mentions: Int) {
        guard let parts = value.array, parts.count == 5, let id = parts[0].string,
            let activity = parts[1].int, let head = Head(postgres: parts[2]),
            let seq = parts[3].place, let unread = parts[4].place
        else { return nil }
        self.init(
            activity: Int64(activity), id: id, head: head,
            reader: ReaderState(
                lastReadSeq: seq, unreadCount: unread, unreadMentions: mentions))
    }
}
