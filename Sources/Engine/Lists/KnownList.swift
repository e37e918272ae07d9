import Chat
import Ports
import Wire

/// A user's list as this gateway knows it, for answers while the origin is away: each conversation
/// as of its stream's position, latest activity first. Its answers have the form of the origin's.
struct KnownList {
    struct Entry {
        let view: ConversationView
        let cursor: ActivityCursor

        init(_ view: ConversationView, activity: Int64) {
            self.view = view
            cursor = ActivityCursor(activity: activity, id: view.record.id)
        }
    }

    private let entries: [Entry]
    /// Up to where departures are known; nil if no token can be made.
    private let place: ListPlace?
    /// Conversations that left the list since that place.
    private let departed: [String]

    init(_ entries: [Entry], place: ListPlace?, departed: [String]) {
        self.entries = entries.sorted { $0.cursor.stands(before: $1.cursor) }
        self.place = place
        self.departed = departed
    }

    var unread: UnreadTotal { UnreadTotal(entries.compactMap(\.view.reader)) }

    var heads: [ID: Head] {
        Dictionary(
            entries.map { ($0.view.record.id.id, $0.view.head) }, uniquingKeysWith: { $1 })
    }

    // MARK: - Pages

    /// - Parameters:
    ///   - cursor: where the page before ended.
    ///   - bytes: what an answer may take; it holds one conversation in any case.
    func page(_ limit: Int, behind cursor: ActivityCursor?, bytes: Int) -> ConversationList {
        let rest =
            cursor.map { cursor in entries.drop { !cursor.stands(before: $0.cursor) } }
            ?? entries[...]
        var list = ConversationList(
            conversations: [], next: nil, total: entries.count, unread: unread)
        var taken = 0
        for entry in rest.prefix(limit) {
            taken += entry.view.size
            guard taken <= bytes || list.conversations.isEmpty else { break }
            list.conversations.append(entry.view)
        }
        let count = list.conversations.count
        if count < rest.count, count > 0 {
            list.next = rest[rest.startIndex + count - 1].cursor.text
        }
        return list
    }

    // MARK: - Changes since a token

    /// The changes since a token. Only a token of the same place can be compared here: only the
    /// origin knows what left the list between two places.
    func changes(since text: String?, limit: Int, bytes: Int) -> ConversationChanges {
        guard let token = text.flatMap({ ListPlaceToken($0) }), let news = news(since: token),
            news.reduce(0, { $0 + $1.size }) <= bytes
        else {
            let list = page(limit, behind: nil, bytes: bytes)
            return changes(list.conversations, removed: [], complete: false)
        }
        return changes(news, removed: removed, complete: true)
    }

    private func changes(
        _ conversations: [ConversationView], removed: [String], complete: Bool
    ) -> ConversationChanges {
        ConversationChanges(
            conversations: conversations, removed: removed, total: entries.count,
            token: token.text, complete: complete, unread: unread, heads: heads)
    }

    private var removed: [String] {
        let present = Set(entries.map { $0.view.record.id.id })
        return departed.filter { !present.contains($0.id) }
    }

    private func news(since token: ListPlaceToken) -> [ConversationView]? {
        guard let place, token.place == place.seq, token.mark == place.mark else { return nil }
        let now = digest(like: token.digest)
        guard token.digest.isExplained(by: now, removed) else { return nil }
        return entries.map(\.view).filter { now.differs(from: token.digest, at: $0.record.id) }
    }

    private func digest(like other: ListDigest? = nil) -> ListDigest {
        var digest = other.map(ListDigest.init(like:)) ?? ListDigest(for: entries.count)
        for entry in entries {
            let view = entry.view
            digest.add(view.record.id, view.head, lastRead: view.reader?.lastReadSeq ?? 0)
        }
        return digest
    }

    /// The token for a user who is given the list. From it the origin finds later changes and
    /// departures; without a place the origin answers that it can't.
    private var token: ListPlaceToken {
        ListPlaceToken(place: place?.seq, mark: place?.mark ?? "", digest: digest())
    }
}
