import Chat
import Ports
import Wire

/// A change of a log, as far as reading state depends on it.
struct LogChange {
    var rev: Int
    /// 0: the record.
    var seq: Int
    var author: String
    var isDeleted: Bool
    /// When the message was sent, in milliseconds; 0 for the record.
    var createdAt: Int64 = 0
    /// The log's mark as of this change; nil if unknown, or if the log is in the cache itself.
    var mark: String?
}

/// A user's reading state in one conversation as of a change of its log. A log's revs are dense, so
/// each change that continues the known ones shows how the count changes.
struct ReadPlace {
    let epoch: String
    private(set) var rev: Int
    private(set) var seq: Int
    private let floor: Int
    private(set) var lastRead: Int
    private(set) var unread: Int

    /// As counted by the origin.
    init(_ head: Head, _ reader: ReaderState) {
        epoch = head.epoch
        rev = head.rev
        seq = head.seq
        floor = head.floor
        lastRead = reader.lastReadSeq
        unread = reader.unreadCount
    }

    /// Messages above this seq count as unread, unless deleted.
    private var start: Int { max(lastRead, floor - 1) }

    /// Whether the count may include messages below the log's present floor.
    func mayCountTrimmed(below floor: Int) -> Bool { floor > start + 1 }

    /// Applies the changes that continue it.
    /// - Parameter changes: ascending by rev, or in the feed's order.
    /// - Returns: false if a change does not continue the known ones.
    mutating func take(_ changes: [LogChange], by user: String) -> Bool {
        for change in changes where change.rev > rev {
            guard change.rev == rev + 1 else { return false }
            rev = change.rev
            guard change.seq > 0 else { continue }
            let isOwn = change.author.isSameID(user)
            if change.seq == seq + 1, !change.isDeleted {
                seq = change.seq
                if isOwn {
                    // Sending moves the marker.
                    lastRead = max(lastRead, change.seq)
                    unread = 0
                } else if change.seq > start {
                    unread += 1
                }
            } else if change.seq > seq {
                return false
            } else if change.isDeleted, !isOwn, change.seq > start {
                unread = max(0, unread - 1)
            }
        }
        return true
    }

    /// The user has read up to here.
    /// - Returns: false if the remaining count is unknown.
    mutating func mark(upTo read: Int) -> Bool {
        guard read > lastRead else { return true }
        var isExact = true
        if read == seq {
            unread = 0
        } else if read < seq, unread == seq - start {
            // None of them is deleted.
            unread = seq - max(read, start)
        } else if read > seq || unread > 0 {
            isExact = false
        }
        lastRead = max(lastRead, read)
        return isExact
    }
}
