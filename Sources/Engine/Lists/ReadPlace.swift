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

    /// Whether no number of mentions depends on it, if the message is not new.
    var keepsMentions: Bool { !isDeleted && mentions.isSame }

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
        ///   - before: the value before the change; nil if there was none, or it is unknown.
        init(_ message: EncodedMessage, at rev: Int, after before: EncodedMessage?) {
            let content = message.contentRev ?? message.rev
            if content < rev {
                self = .same
            } else if content == rev, let mentioned = try? message.mentioned() {
                let isSame = before.map { (try? $0.mentioned()) == mentioned } ?? false
                self = isSame ? .same : .these(mentioned)
            } else {
                self = .unknown
            }
        }

        var isSame: Bool { if case .same = self { true } else { false } }

        /// Whether the message mentions the user, if it is new or has others than before; nil if
        /// that is unknown.
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
    /// Up to here mentions were counted, but by no change; a mention below where the user joined
    /// does not count, and no change says where that is.
    private var counted: Int
    /// The mentions among these unread messages; what was known last, unless `knowsMentions`.
    private var counts: Int
    private(set) var knowsMentions = true
    /// The unread messages above that mention the user.
    private var mentioning: [Int] = []
    /// The most that are kept one by one.
    private static let limit = 64

    /// As counted by the origin.
    init(_ head: Head, _ reader: ReaderState) {
        epoch = head.epoch
        rev = head.rev
        seq = head.seq
        floor = head.floor
        lastRead = reader.lastReadSeq
        unread = reader.unreadCount
        counted = head.seq
        counts = reader.unreadMentions
    }

    /// Those of the unread messages that mention the user; a guess, unless `knowsMentions`.
    private var mentions: Int { min(counts + mentioning.count, unread) }

    var state: ReaderState {
        ReaderState(lastReadSeq: lastRead, unreadCount: unread, unreadMentions: mentions)
    }

    /// Messages above this seq count as unread, unless deleted.
    private var start: Int { max(lastRead, floor - 1) }

    /// Whether the count may include messages below the log's present floor.
    func mayCountTrimmed(below floor: Int) -> Bool { floor > start + 1 }

    /// Nothing is unread.
    private mutating func clear() {
        (unread, counts, knowsMentions) = (0, 0, true)
        mentioning = []
    }

    /// From now on the mentions known one by one are a number.
    private mutating func fold() {
        counts += mentioning.count
        mentioning = []
        counted = seq
    }

    /// An unread message mentions the user, or does not.
    /// - Parameter isMention: nil if that is unknown.
    private mutating func note(_ isMention: Bool?, at place: Int) {
        guard let isMention else {
            fold()
            knowsMentions = false
            return
        }
        guard place > counted else {
            // Whether it is among those that were counted, nobody knows.
            if isMention || counts > 0 { knowsMentions = false }
            return
        }
        mentioning.removeAll { $0 == place }
        if isMention { mentioning.append(place) }
        if mentioning.count > Self.limit { fold() }
    }

    /// Applies the changes that continue it. Whom a message mentioned before it was edited or
    /// deleted no change says: of a message that was counted with others, the number of mentions
    /// may be unknown from then on.
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
                    note(change.mentions.includes(user), at: change.seq)
                }
            } else if change.seq > seq {
                return false
            } else if isOwn || change.seq <= start {
                continue
            } else if change.isDeleted {
                unread = max(0, unread - 1)
                if unread == 0 { clear() } else { note(false, at: change.seq) }
            } else if !change.mentions.isSame {
                note(change.mentions.includes(user), at: change.seq)
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
        } else {
            if read < seq, unread == seq - start {
                // None of them is deleted.
                unread = seq - max(read, start)
            } else if read > seq || unread > 0 {
                isExact = false
            }
            mentioning.removeAll { $0 <= read }
            if read >= counted {
                (counts, knowsMentions) = (0, true)
            } else if counts > 0 {
                knowsMentions = false
            }
        }
        lastRead = max(lastRead, read)
        return isExact && knowsMentions
    }
}
