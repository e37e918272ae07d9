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
        /// How far an answer of the origin has told the user to have read.
        var shown = 0
    }

    private var readers: [ID: Reader] = [:]
    /// The latest ones, in the order of their revs.
    private var changes: [LogChange] = []
    /// How many changes are kept for those who have not followed them.
    private static let limit = 64
    /// When the log was active last, in milliseconds, and as of which change.
    private var active: (rev: Int, moment: Int64)?
    /// The newest change that an answer of the origin has shown to anybody.
    private var shown = 0
    /// Who takes part, where somebody has asked.
    var roster = Roster()

    var isEmpty: Bool { readers.isEmpty }

    /// Whether changes are to be told to it.
    var isFollowed: Bool { !readers.isEmpty || roster.isFollowed }

    // MARK: - The feed

    /// The feed has told of a change.
    mutating func note(_ change: LogChange) {
        // Sending moves the marker; whoever changes a message of theirs has it behind it already.
        if change.seq > 0 { roster.mark(change.author.id, upTo: change.seq) }
        guard !readers.isEmpty else { return }
        // In most cases behind all the others. One that fills a hole comes late.
        var at = changes.count
        while at > 0, changes[at - 1].rev > change.rev { at -= 1 }
        guard at == 0 || changes[at - 1].rev < change.rev else { return }
        changes.insert(change, at: at)
        guard changes.count > Self.limit else { return }
        for user in readers.keys { follow(user) }
        followActivity()
        changes.removeFirst(Self.limit / 2)
    }

    /// The feed has told that the user has read up to here.
    /// - Returns: false if it can't be told any more how the user reads.
    mutating func mark(_ user: ID, upTo seq: Int) -> Bool {
        roster.mark(user, upTo: seq)
        guard let reader = readers[user] else { return true }
        readers[user]?.marked = max(reader.marked, seq)
        follow(user)
        guard readers[user]?.place?.mark(upTo: seq) == false else { return true }
        readers[user]?.place = nil
        return false
    }

    /// The user does not take part any more.
    mutating func remove(_ user: ID) { readers[user] = nil }

    private mutating func follow(_ user: ID) {
        // Where it can't, it does not come to where the stream stands, and says nothing.
        _ = readers[user]?.place?.take(changes, by: user.text)
    }

    /// Where a change does not continue what is known, it does not come to where the stream stands.
    private mutating func followActivity() {
        guard var active else { return }
        for change in changes where change.rev == active.rev + 1 {
            active = (change.rev, max(active.moment, change.createdAt))
        }
        self.active = active
    }

    // MARK: - The origin

    /// An answer of the origin has shown the log as of this change, and how the user reads it.
    mutating func saw(_ rev: Int, _ reader: ReaderState?, by user: ID) {
        shown = max(shown, rev)
        guard let reader, let known = readers[user] else { return }
        readers[user]?.shown = max(known.shown, reader.lastReadSeq)
    }

    /// The origin has answered when the log was active last, as of this head.
    mutating func adopt(_ moment: Int64, at head: Head) {
        followActivity()
        guard active?.rev ?? 0 < head.rev else { return }
        active = (head.rev, max(moment, active?.moment ?? 0))
    }

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
        guard let reader = readers[user], let place = reader.place,
            place.epoch == position.epoch, place.rev == position.rev, place.rev >= shown,
            place.lastRead >= reader.shown, !place.mayCountTrimmed(below: position.floor)
        else { return nil }
        return ReaderState(lastReadSeq: place.lastRead, unreadCount: place.unread)
    }

    /// Who takes part as of where the stream stands; nil if that is not known.
    func people(_ range: ParticipantsRequest, _ state: Stream.State) -> ParticipantList? {
        guard shown <= state.position.rev else { return nil }
        return roster.list(range, as: state.record.rev, of: state.members)
    }

    /// When the log was active last as of where the stream stands; nil if that is not known.
    mutating func activity(at position: Head) -> Int64? {
        followActivity()
        return active.flatMap { $0.rev == position.rev ? $0.moment : nil }
    }
}
