import Ports
import Wire

/// A conversation in a list, with its log's head. Sorted by activity, then by id, so that a cursor
/// is a unique place.
struct ListEntry: Sendable {
    var activity: Int64
    var id: String
    var head: Head
    var reader: ReaderState

    var place: ActivityCursor { ActivityCursor(activity: activity, id: id) }

    init(activity: Int64, id: String, head: Head, reader: ReaderState) {
        self.activity = activity
        self.id = id
        self.head = head
        self.reader = reader
    }

    init?(_ answer: RedisScripts.Answer, of id: String) {
        guard let activity = answer[1].int, let head = Head(answer[2]),
            let reader = ReaderState(answer[3])
        else { return nil }
        self.activity = Int64(activity)
        self.id = id
        self.head = head
        self.reader = reader
    }
}

/// A user's list, as read.
struct ListReading: Sendable {
    /// The conversations in which the user takes part, latest activity first.
    var entries: [ListEntry]
    /// The newest departure known with it; nil if there is no log of departures.
    var place: (seq: Int, mark: [UInt8])?
    /// Whether the reader's place is in this log, and near enough.
    var isKnown: Bool
    /// The conversations that left the list since the reader's place.
    var gone: [String]
    /// Conversations whose entries are there though the user does not take part: one that left, is
    /// about to join, or whose join was lost.
    var out: [String] = []
    /// Whether every departure that the list reflects is at or below `place`.
    var isPlaceExact = true

    var unread: UnreadTotal { UnreadTotal(entries.map(\.reader)) }

    /// A digest of all heads, in the buckets of `other` or in as many as needed.
    func digest(like other: ListDigest? = nil) -> ListDigest {
        var digest = other.map(ListDigest.init(like:)) ?? ListDigest(for: entries.count)
        for entry in entries {
            digest.add(entry.id, entry.head, lastRead: entry.reader.lastReadSeq)
        }
        return digest
    }

    /// The token of this reading.
    var token: String {
        ListPlaceToken(
            place: place?.seq, mark: Hexadecimal.text(place?.mark ?? []), digest: digest()
        ).text
    }

    /// The changes since the token: entries that differ, and ids that left; nil if that can't be
    /// told.
    func news(since token: ListPlaceToken) -> (entries: [ListEntry], removed: [String])? {
        guard isKnown else { return nil }
        let now = digest(like: token.digest)
        let present = Set(entries.map { Array($0.id.utf8) })
        var removed: Set<[UInt8]> = []
        let lost = out.filter { now.differs(from: token.digest, at: $0) }
        for id in gone + lost where !present.contains(Array(id.utf8)) {
            removed.insert(Array(id.utf8))
        }
        let left = removed.map { String(decoding: $0, as: UTF8.self) }.sorted()
        // Otherwise a departure is missing from the log, or a part of the list is lost.
        guard token.digest.isExplained(by: now, left) else { return nil }
        return (entries.filter { now.differs(from: token.digest, at: $0.id) }, left)
    }
}
