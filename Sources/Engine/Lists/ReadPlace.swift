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
    /// What the change says of mentions.
    var mentions = Mentions.same
    /// When the message was sent, in milliseconds; 0 for the record.
    var createdAt: Int64 = 0
    /// The log's mark as of this change; nil if unknown, or if the log is in the cache itself.
    var mark: String?

    /// What a change of a message says of whom it mentions.
    enum Mentions {
        /// Nothing: they are what they were.
        case same
        /// These, as of the change.
        case these(Mentioned)
        /// The value is of a later change.
        case unknown

        /// - Parameters:
        ///   - message: the value, or a newer one.
        ///   - rev: of the change.
        init(_ message: EncodedMessage, at rev: Int) {
            let content = message.contentRev ?? message.rev
            if content == rev {
                self = (try? message.mentioned()).map { .these($0) } ?? .unknown
            } else {
                self = content < rev ? .same : .unknown
            }
        }

        /// Whether a new message mentions the user; nil if that is unknown.
        func includes(_ user: String) -> Bool? {
            switch self {
            case .same: false
            case .these(let mentioned): mentioned.includes(user)
            case .unknown: nil
            }
        }
    }
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
    /// Those of the unread messages that mention the user; what was known last, unless
    /// `knowsMentions`.
    private(set) var mentions: Int
    private(set) var knowsMentions = true

    /// As counted by the origin.
    init(_ head: Head, _ reader: ReaderState) {
        epoch = head.epoch
        rev = head.rev
        seq = head.seq
        floor = head.floor
        lastRead = reader.lastReadSeq
        unread = reader.unreadCount
        mentions = reader.unreadMentions
    }

    var state: ReaderState {
        ReaderState(lastReadSeq: lastRead, unreadCount: unread, unreadMentions: mentions)
    }

    /// Messages above this seq count as unread, unless deleted.
    private var start: Int { max(lastRead, floor - 1) }

    /// Whether the count may include messages below the log's present floor.
    func mayCountTrimmed(below floor: Int) -> Bool { floor > start + 1 }

    /// Nothing is unread.
    private mutating func clear() { (unread, mentions, knowsMentions) = (0, 0, true) }

    /// Applies the changes that continue it. Whom a message mentioned before it was edited or
    /// deleted no change says: where that counts, the number of mentions is unknown from then on.
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
                    clear()
                } else if change.seq > start {
                    unread += 1
                    switch change.mentions.includes(user) {
                    case true?: mentions += 1
                    case false?: break
                    case nil: knowsMentions = false
                    }
                }
            } else if change.seq > seq {
                return false
            } else if change.isDeleted, !isOwn, change.seq > start {
                unread = max(0, unread - 1)
                if mentions > 0 { knowsMentions = false }
            } else if !isOwn, change.seq > start {
                if case .same = change.mentions { continue }
                if mentions > 0 || change.mentions.includes(user) != false {
                    knowsMentions = false
                }
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
            clear()
        } else if read < seq, unread == seq - start {
            // None of them is deleted.
            unread = seq - max(read, start)
        } else if read > seq || unread > 0 {
            isExact = false
        }
        if read != seq, mentions > 0 { knowsMentions = false }
        lastRead = max(lastRead, read)
        return isExact && knowsMentions
    }
}
