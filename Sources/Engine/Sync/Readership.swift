import Chat
import Ports
import Wire

/// How users read a conversation whose log lives elsewhere, for answers while the origin is away:
/// what the origin said of each while the feed told of the conversation, and what the feed has
/// told since. Owned by the stream; it knows neither it nor the engine. It begins anew whenever
/// the feed does, since markers move without a change of the log.
///
/// The changes are followed when somebody asks: a message costs the same however many read.
struct Readership {
    private struct Reader {
        /// nil until the origin has answered, and where what came then can't be followed.
        var place: ReadPlace?
        /// How far the feed has told that the user has read, since it is listened to.
        var marked = 0
    }

    private var readers: [ID: Reader] = [:]
    /// The latest ones, in the order of their revs.
    private var changes: [LogChange] = []
    /// How many changes are kept for those who have not followed them.
    private static let limit = 256

    var isEmpty: Bool { readers.isEmpty }

    // MARK: - The feed

    /// The feed has told of a change.
    mutating func note(_ change: LogChange) {
        guard !readers.isEmpty else { return }
        // In most cases behind all the others. One that fills a hole comes late.
        var at = changes.count
        while at > 0, changes[at - 1].rev > change.rev { at -= 1 }
        guard at == 0 || changes[at - 1].rev < change.rev else { return }
        changes.insert(change, at: at)
        guard changes.count > Self.limit else { return }
        for user in readers.keys { follow(user) }
        changes.removeFirst(Self.limit / 2)
    }

    /// The feed has told that the user has read up to here.
    mutating func mark(_ user: ID, upTo seq: Int) {
        guard let reader = readers[user] else { return }
        readers[user]?.marked = max(reader.marked, seq)
        follow(user)
        if readers[user]?.place?.mark(upTo: seq) == false { readers[user]?.place = nil }
    }

    /// The user does not take part any more.
    mutating func remove(_ user: ID) { readers[user] = nil }

    private mutating func follow(_ user: ID) {
        // Where it can't, it does not come to where the stream stands, and says nothing.
        _ = readers[user]?.place?.take(changes, by: user.text)
    }

    // MARK: - The origin

    /// The origin is asked how the user reads.
    mutating func expect(_ user: ID) {
        if readers[user] == nil { readers[user] = Reader() }
    }

    /// The origin has answered what it was asked since it was expected.
    /// - Parameters:
    ///   - head: where the log stood then.
    ///   - position: where the stream stands.
    mutating func adopt(_ state: ReaderState, of user: ID, at head: Head, position: Head) {
        guard let reader = readers[user], head.epoch == position.epoch else { return }
        var place = ReadPlace(head, state)
        guard place.take(changes, by: user.text), place.rev >= position.rev,
            place.mark(upTo: reader.marked)
        else { return }
        readers[user]?.place = place
    }

    // MARK: - Answers

    /// How the user reads the log as of where the stream stands; nil if that is not known.
    mutating func state(of user: ID, at position: Head) -> ReaderState? {
        follow(user)
        guard let place = readers[user]?.place, place.epoch == position.epoch,
            place.rev == position.rev, !place.mayCountTrimmed(below: position.floor)
        else { return nil }
        return ReaderState(lastReadSeq: place.lastRead, unreadCount: place.unread)
    }
}
