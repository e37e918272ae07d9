import Ports
import Wire

/// A conversation in a list, as its log stands: by activity, then by id, so that a cursor is a
/// place.
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

    init?(_ answer: Redis.Answer, of id: String) {
        let reading = answer[3].elements
        guard let activity = answer[1].int, let head = Head(answer[2]), reading.count == 2 else {
            return nil
        }
        self.activity = Int64(activity)
        self.id = id
        self.head = head
        reader = ReaderState(
            lastReadSeq: reading[0].place ?? 0, unreadCount: reading[1].place ?? 0)
    }
}

/// A user's list as it was read.
struct ListReading: Sendable {
    /// Those in which the user takes part, latest activity first.
    var entries: [ListEntry]
    /// The newest departure known with it; nil if there is no log of them.
    var place: (seq: Int, mark: [UInt8])?
    /// Whether what the reader knew is of the log, and near enough.
    var isKnown: Bool
    /// Who left since the reader knew the list.
    var gone: [String]
    /// Whether all that is not in the list and left it stands at or below the place in the log.
    var isPlaceExact = true

    var unread: UnreadTotal { UnreadTotal(entries.map(\.reader)) }

    /// Where all stand, in the buckets of `other` or in as many as they need.
    func digest(like other: ListDigest? = nil) -> ListDigest {
        var digest = other.map(ListDigest.init(like:)) ?? ListDigest(for: entries.count)
        for entry in entries {
            digest.add(entry.id, entry.head, lastRead: entry.reader.lastReadSeq)
        }
        return digest
    }

    /// What the user knows who was given the list as it was read.
    var token: String {
        ListPlaceToken(
            place: place?.seq, mark: Hexadecimal.text(place?.mark ?? []), digest: digest()
        ).text
    }

    /// Those that are news to somebody who knew the list as of the token, and who left it since;
    /// nil if that can't be told.
    func news(since token: ListPlaceToken) -> (entries: [ListEntry], removed: [String])? {
        guard isKnown, place != nil else { return nil }
        let present = Set(entries.map { Array($0.id.utf8) })
        var removed: Set<[UInt8]> = []
        for id in gone where !present.contains(Array(id.utf8)) { removed.insert(Array(id.utf8)) }
        // Fewer than that can't be: one that left is not in the log, or a part of the list is lost.
        guard entries.count + removed.count >= token.digest.count else { return nil }
        let now = digest(like: token.digest)
        return (
            entries.filter { now.differs(from: token.digest, at: $0.id) },
            removed.map { String(decoding: $0, as: UTF8.self) }.sorted()
        )
    }
}
