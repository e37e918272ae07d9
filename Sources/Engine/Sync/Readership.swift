import Chat
import Ports
import Wire

/// How users read a conversation whose log lives elsewhere, for answers while the origin is away:
/// the origin's answers since the feed covers the conversation, and what the feed brought since.
/// Owned by the stream; it knows neither the stream nor the engine. It restarts with each feed,
/// since markers move without a change of the log.
///
/// An answer counts only if its head is of the stream's own branch: after a failover the origin may
/// answer from another one, with the same epoch and rev. The marks of the log tell them apart.
///
/// Changes are applied on demand: a message costs the same however many users read.
struct Readership {
    /// A change of the log in an answer, which the stream has yet to show in its own branch.
    private struct Proof {
        let rev: Int
        let mark: String

        init(_ head: Head) {
            rev = head.rev
            mark = head.mark
        }
    }

    private struct Reader {
        /// Nil until the origin has answered, or if later changes could not be followed.
        var place: ReadPlace?
        /// What `place` waits for before it takes changes and is told; nil if nothing.
        var proof: Proof?
        /// The stream's position when the origin was asked last.
        var asked: Head?
        /// The furthest read marker from the feed.
        var marked = 0
        /// The furthest read marker in an answer of the origin.
        var shown = 0
    }

    private var readers: [ID: Reader] = [:]
    /// The latest changes, ordered by rev.
    private var changes: [LogChange] = []
    /// How many changes are kept for readers that have not applied them.
    private static let limit = 64
    /// Time of the log's last activity in milliseconds, the change as of which that is known, and
    /// what it waits for.
    private var active: (rev: Int, moment: Int64, proof: Proof?)?
    /// The newest change that any answer of the origin has shown.
    private var shown = 0
    /// No message above this is in any place.
    private var newest = 0
    /// The participants, if a request asked for them.
    var roster = Roster()

    var isEmpty: Bool { readers.isEmpty }

    /// Whether it needs the feed's changes.
    var isFollowed: Bool { !readers.isEmpty || roster.isFollowed }

    // MARK: - The feed

    /// The feed brought a change.
    /// - Returns: the users whose number of unread mentions is unknown from then on.
    @discardableResult
    mutating func note(_ change: LogChange) -> [ID] {
        // Sending moves the author's marker; who edits or deletes an own message has read it
        // already.
        if change.seq > 0 { roster.mark(change.author.id, upTo: change.seq) }
        guard !readers.isEmpty else { return [] }
        // Mostly the newest. A change that fills a hole comes late.
        var at = changes.count
        while at > 0, changes[at - 1].rev > change.rev { at -= 1 }
        guard at == 0 || changes[at - 1].rev < change.rev else { return [] }
        changes.insert(change, at: at)
        let isOfOldMessage = change.seq > 0 && change.seq <= newest
        newest = max(newest, change.seq)
        let lost = isOfOldMessage && !change.keepsMentions ? followAll() : []
        guard changes.count > Self.limit else { return lost }
        followActivity()
        defer { changes.removeFirst(Self.limit / 2) }
        return lost + followAll()
    }

    /// - Returns: the users whose number of unread mentions is unknown from then on.
    private mutating func followAll() -> [ID] {
        readers.keys.filter { user in
            let isKnown = readers[user]?.place?.knowsMentions == true
            follow(user)
            return isKnown && readers[user]?.place?.knowsMentions == false
        }
    }

    /// The feed reports that the user has read up to here.
    /// - Returns: false if the user's reading state is now unknown.
    mutating func mark(_ user: ID, upTo seq: Int) -> Bool {
        roster.mark(user, upTo: seq)
        guard let reader = readers[user] else { return true }
        readers[user]?.marked = max(reader.marked, seq)
        follow(user)
        guard readers[user]?.place?.mark(upTo: seq) == false else { return true }
        readers[user]?.place = nil
        return false
    }

    /// The user no longer takes part.
    mutating func remove(_ user: ID) { readers[user] = nil }

    /// - Parameter position: of the stream, if it is known; also below.
    private mutating func follow(_ user: ID, at position: Head? = nil) {
        if let proof = readers[user]?.proof {
            guard let isProven = isProven(proof, at: position) else { return }
            readers[user]?.proof = nil
            if !isProven { readers[user]?.place = nil }
        }
        // If it can't follow, its rev stays below the stream's position and it gives no answer.
        _ = readers[user]?.place?.take(changes, by: user.text)
    }

    /// If a change does not continue the known ones, its rev stays below the stream's position.
    private mutating func followActivity(at position: Head? = nil) {
        guard var active else { return }
        if let proof = active.proof {
            guard let isProven = isProven(proof, at: position) else { return }
            guard isProven else { return self.active = nil }
            active.proof = nil
        }
        for change in changes where change.rev == active.rev + 1 {
            active = (change.rev, max(active.moment, change.createdAt), nil)
        }
        self.active = active
    }

    /// Whether the change is of the stream's branch; nil if the stream has not shown it.
    /// - Parameter position: one of the stream's, now or before.
    private func isProven(_ proof: Proof, at position: Head?) -> Bool? {
        if let position, position.rev == proof.rev { return position.mark == proof.mark }
        let mark = changes.first { $0.rev == proof.rev }?.mark
        return mark.map { $0 == proof.mark }
    }

    // MARK: - The origin

    /// An answer of the origin showed the log as of this change, with the user's reading state.
    mutating func saw(_ rev: Int, _ reader: ReaderState?, by user: ID) {
        shown = max(shown, rev)
        guard let reader, let known = readers[user] else { return }
        readers[user]?.shown = max(known.shown, reader.lastReadSeq)
    }

    /// The origin is asked how the user reads.
    /// - Parameter position: of the stream.
    mutating func expect(_ user: ID, at position: Head?) {
        readers[user, default: Reader()].asked = position
    }

    /// The origin answered; changes since `expect` are kept.
    /// - Parameters:
    ///   - head: of the log in that answer.
    ///   - activity: when the log was last active, as of this head; nil if the answer lacks that.
    ///   - position: of the stream.
    mutating func adopt(
        _ state: ReaderState, active activity: Int64?, of user: ID, at head: Head, position: Head
    ) {
        guard let reader = readers[user], head.epoch == position.epoch else { return }
        let proof = Proof(head)
        let isProven = isProven(proof, at: position) ?? isProven(proof, at: reader.asked)
        guard isProven ?? (head.rev > position.rev) else { return }
        let waits = isProven == nil ? proof : nil
        if let activity { adopt(activity, at: head, waits) }
        var place = ReadPlace(head, state)
        if waits == nil {
            guard place.take(changes, by: user.text), place.rev >= position.rev else { return }
        }
        guard place.mark(upTo: reader.marked) else { return }
        newest = max(newest, place.seq)
        readers[user]?.place = place
        readers[user]?.proof = waits
    }

    private mutating func adopt(_ moment: Int64, at head: Head, _ waits: Proof?) {
        followActivity()
        // What is not proven may be of another branch.
        let known = active?.proof == nil ? active : nil
        guard known?.rev ?? 0 < head.rev else { return }
        active = (head.rev, max(moment, known?.moment ?? 0), waits)
    }

    // MARK: - Answers

    /// The user's reading state at the stream's position; nil if unknown.
    mutating func state(of user: ID, at position: Head) -> ReaderState? {
        follow(user, at: position)
        guard let reader = readers[user], reader.proof == nil, let place = reader.place,
            place.epoch == position.epoch, place.rev == position.rev, place.rev >= shown,
            place.lastRead >= reader.shown, !place.mayCountTrimmed(below: position.floor),
            place.knowsMentions
        else { return nil }
        return place.state
    }

    /// The participants at the stream's position; nil if unknown.
    func people(_ range: ParticipantsRequest, _ state: Stream.State) -> ParticipantList? {
        guard shown <= state.position.rev else { return nil }
        return roster.list(range, as: state.record.rev, of: state.members)
    }

    /// The time of the log's last activity at the stream's position; nil if unknown.
    mutating func activity(at position: Head) -> Int64? {
        followActivity(at: position)
        guard active?.proof == nil else { return nil }
        return active.flatMap { $0.rev == position.rev ? $0.moment : nil }
    }
}
