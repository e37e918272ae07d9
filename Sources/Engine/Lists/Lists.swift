import Chat
import Ports
import Wire

/// The watched lists of conversations of logs that live elsewhere: what was read of them, and which
/// may be answered while the origin is away. These are the lists that were read completely and
/// followed without a break since, as were all their conversations.
///
/// It knows streams and asks the origin; it knows neither sessions nor what was sent to whom.
final class Lists {
    /// By user.
    private(set) var followers: [ID: ListFollower] = [:]
    /// How often a list was read.
    private(set) var readings = 0
    /// Conversations in all lists together.
    private var places = 0
    /// A log was found to have lost its end: lists may have lost as much, and are read again.
    var isBranched = false
    private var branchedReadAfter = Timestamp(milliseconds: 0)

    let streams: StreamRegistry
    private let clock: Clock
    let sync: Sync

    /// Limit of conversations whose reading state is kept, all lists together: about 100 MiB. Lists
    /// beyond it are not answered while the origin is away.
    static let placeLimit = 500_000
    /// Up to this many unknown conversations are asked for one by one.
    static let fewUnknown = 8
    /// Milliseconds between two checks of a list: while something is unknown, and otherwise.
    private static let soon: Int64 = 1000
    private static let late: Int64 = 60_000

    init(_ streams: StreamRegistry, _ clock: Clock, _ sync: Sync) {
        self.streams = streams
        self.clock = clock
        self.sync = sync
    }

    private var now: Timestamp { clock.now }

    subscript(_ user: ID) -> ListFollower? { followers[user] }

    /// Counts a reading of a list.
    func countReading() -> Int {
        readings += 1
        return readings
    }

    // MARK: - The feed

    /// The list's feed begins.
    func followed(_ user: ID) { followers[user]?.follow(readings: readings) }

    /// Every subscription of that generation has ended.
    func lapsed(generation: Int) {
        for user in followers.keys { followers[user]?.lapsed(generation: generation) }
    }

    /// The link is up again: nothing counts until it is read again.
    func doubtAll() { for user in followers.keys { followers[user]?.doubt() } }

    /// The user was shown something newer than what was read of the list.
    func doubt(_ user: ID) {
        followers[user]?.doubt()
        look(at: user, in: Self.soon)
    }

    /// Adds a watcher of the user's list: changes of its contents are followed from now on.
    func follow(_ user: String) {
        let isNew = followers[user.id] == nil
        followers[user.id, default: ListFollower(user: user)].watchers += 1
        if isNew { sync.questions.act(.subscribeList(user: user)) }
    }

    /// Removes a watcher.
    /// - Parameter watched: conversations that the user still watches otherwise.
    func unfollow(_ user: ID, watched: () -> Set<ID>) {
        followers[user]?.watchers -= 1
        guard followers[user]?.watchers == 0, let follower = followers.removeValue(forKey: user)
        else { return }
        sync.questions.act(.unsubscribeList(user: follower.user))
        let watched = watched()
        forget(follower) { watched.contains($0.id.id) }
        for conversation in follower.conversations { streams[conversation]?.entry.listed -= 1 }
    }

    /// The conversation no longer exists.
    /// - Returns: the users whose lists showed it.
    func forget(_ conversation: ID) -> [String] {
        let shown = followers.values.filter { $0.shows(conversation) }.map(\.user)
        for user in followers.keys {
            _ = followers[user]?.remove(conversation, readings: readings)
            followers[user]?.left.remove(conversation)
        }
        return shown
    }

    /// The list has no watchers left.
    private func forget(_ follower: ListFollower, isNeeded: (Stream) -> Bool) {
        let user = follower.user.id
        for id in follower.conversations {
            guard let stream = streams[id], !isNeeded(stream) else { continue }
            stream.reading.readership.remove(user)
        }
    }

    // MARK: - Contents

    /// A conversation joined the user's list.
    /// - Returns: whether it was absent.
    func insert(_ conversation: ID, of user: ID) -> Bool {
        guard followers[user]?.insert(conversation) == true else { return false }
        look(at: user, in: Self.soon)
        return true
    }

    /// A conversation left the user's list.
    /// - Returns: whether watchers were notified before; nil if it was absent.
    func remove(_ conversation: ID, of user: ID) -> Bool? {
        guard followers[user]?.remove(conversation, readings: readings) == true else { return nil }
        return followers[user]?.left.remove(conversation) != nil
    }

    /// The feed reports a change of the user's list.
    /// - Returns: whether the list is followed.
    func noteChange(_ user: ID) -> Bool {
        guard let follower = followers[user] else { return false }
        // The current reading may be from before or after the change.
        if follower.isBeingRead { followers[user]?.isStale = true }
        return true
    }

    /// An answer of the origin did not have these conversations.
    func dispute(_ conversations: Set<ID>, _ user: ID) {
        followers[user]?.dispute(conversations, readings: readings)
    }

    /// The ended reading found these in the user's list.
    /// - Returns: those that an answer before the reading did not have.
    func confirm(_ found: Set<ID>, of user: ID) -> Set<ID> {
        followers[user]?.confirm(found) ?? []
    }

    /// The feed reports the conversation in the user's list.
    func isIn(_ conversation: ID, _ user: ID) { followers[user]?.isIn(conversation) }

    /// An answer's token has these conversations.
    func noteAnswer(_ heads: [ID: Head], _ user: ID) { followers[user]?.noteAnswer(heads) }

    /// The watchers of the user's list are shown that the conversation is in it.
    func noteShown(_ conversation: ID, to user: ID) { followers[user]?.left.remove(conversation) }

    /// A watcher came who was notified of no departure.
    func forgetTold(_ user: ID) { followers[user]?.left = [] }

    /// The log reports that these users left, and their watchers are notified.
    /// - Returns: the users whose lists showed it until now.
    func noteTold(_ conversation: ID, of users: [String]) -> [String] {
        let shown = users.filter { followers[$0.id]?.shows(conversation) ?? !sync.mirrors }
        for user in users { followers[user.id]?.noteTold(conversation) }
        return shown
    }

    // MARK: - Reading

    /// Asks the origin for the user's list, unless a reading is under way.
    /// - Returns: the number of the new reading; nil if one is under way.
    func read(_ user: ID) -> Int? {
        guard let reading = beginReading(user), let follower = followers[user] else { return nil }
        sync.fetcher.ask(.list(user: user, reading: reading), .listed(user: follower.user), 1)
        return reading
    }

    /// The reading with this number ended.
    /// - Returns: the list as known before; nil if another reading counts.
    func endReading(_ user: ID, _ reading: Int) -> ListFollower? {
        guard let follower = followers[user], follower.reading == reading, follower.isBeingRead
        else {
            return nil
        }
        followers[user]?.isBeingRead = false
        return follower
    }

    /// The origin did not answer; it is asked again later.
    func failed(_ user: ID) {
        followers[user]?.retryAt = now.adding(sync.options?.backoffMax ?? 0)
    }

    /// Whether the list changed during the reading; clears that.
    func takeIsStale(_ user: ID) -> Bool {
        guard followers[user]?.isStale == true else { return false }
        followers[user]?.isStale = false
        return true
    }

    private func beginReading(_ user: ID) -> Int? {
        guard let follower = followers[user] else { return nil }
        guard !follower.isBeingRead else {
            followers[user]?.isStale = true
            return nil
        }
        followers[user]?.beginReading(countReading())
        for id in follower.conversations where places <= Self.placeLimit {
            guard let stream = streams[id] else { continue }
            stream.reading.readership.expect(user, at: stream.state?.position)
        }
        return readings
    }

    /// The origin answered with the list.
    /// - Parameter generation: of the feed that was unbroken from the question to the answer; 0 for
    ///   none.
    func adopt(_ list: ListedHeads, of user: ID, _ generation: Int) {
        followers[user]?.noteWhole()
        guard let reading = followers[user]?.reading else { return }
        for (id, reader) in list.readers {
            guard let head = list.heads[id], let stream = streams[id], let state = stream.state,
                stream.replica?.generation != nil, stream.reading.followedSince < reading,
                // A user who left and rejoined has another marker.
                head.rev >= state.record.rev
            else { continue }
            stream.reading.readership.adopt(
                reader, active: list.activity[id], of: user, at: head, position: state.position)
        }
        followers[user]?.adopt(list.place, generation: generation)
        if followers[user]?.looks.futile == 0 { followers[user]?.looks.at = now }
    }

    /// Keeps an answer of the origin about a user's reading state; the feed covers what follows.
    func learn(_ view: ConversationView, of user: ID) {
        guard let reader = view.reader, let stream = streams[view.record.id.id],
            let state = stream.state, view.head.rev >= state.record.rev
        else { return }
        var activity: Int64?
        // When a deleted message was sent is unknown.
        if view.lastMessage?.seq ?? 0 == view.head.seq {
            let sent = view.lastMessage?.createdAt.milliseconds ?? 0
            activity = max(sent, view.record.updatedAt.milliseconds)
        }
        stream.reading.readership.adopt(
            reader, active: activity, of: user, at: view.head, position: state.position)
    }

    /// The origin answered how a user reads one conversation.
    func took(
        _ subject: FetchQueue.Subject, of user: ID, _ generation: Int,
        _ result: Result<HistoryAnswer, RequestError>
    ) {
        guard let view = subject.view(in: result, generation) else { return }
        if view.reader == nil { doubt(user) } else { learn(view, of: user) }
    }

    // MARK: - Answers to users

    /// An answer of the origin showed a user these. Later answers must not be older.
    /// - Parameter total: the length of the list, if the answer has it.
    func showed(_ views: [ConversationView], of total: Int? = nil, to user: ID) {
        for view in views {
            streams[view.record.id.id]?.reading.readership.saw(view.head.rev, view.reader, by: user)
        }
        guard let follower = followers[user], follower.known != nil else { return }
        let isNews = views.contains { view in
            let id = view.record.id.id
            return view.reader != nil
                && (!follower.conversations.contains(id) || follower.gone.contains(id))
        }
        let count = follower.conversations.count - follower.gone.count
        if isNews || total.map({ $0 != count }) ?? false { doubt(user) }
    }

    /// A write of the user was done.
    func wrote(_ outcome: Outcome, _ request: Request, by user: ID) {
        switch outcome {
        case .conversation(let view, _): showed([view], to: user)
        case .read, .messages, .reacted, .removed, .done:
            guard let conversation = request.written?.id else { return }
            let stream = streams[conversation]
            if case .read(let reader) = outcome {
                stream?.reading.readership.saw(0, reader, by: user)
            } else if case .messages(let messages, _, _) = outcome {
                let rev = messages.reduce(0) { max($0, $1.rev) }
                stream?.reading.readership.saw(rev, nil, by: user)
            } else if case .reacted(let message, _, _) = outcome {
                stream?.reading.readership.saw(message.rev, nil, by: user)
            } else if request.row.method == .leaveConversation
                || request.row.method == .deleteConversation
            {
                left(conversation, user)
            }
        }
    }

    /// The user was notified of no longer taking part.
    func left(_ conversation: ID, _ user: ID) {
        streams[conversation]?.reading.readership.remove(user)
        followers[user]?.noteGone(conversation)
    }

    // MARK: - Periodic checks

    /// Schedules a check of what is known of the list.
    func look(at user: ID, in milliseconds: Int64) {
        let moment = now.adding(milliseconds)
        guard let follower = followers[user], follower.looks.at.map({ $0 > moment }) ?? true else {
            return
        }
        followers[user]?.looks.at = moment
    }

    /// The stream fell behind its log: parts of the list may have to be read again.
    func fellBehind(_ stream: Stream) {
        guard let members = stream.state?.members, !followers.isEmpty else { return }
        for user in followers.keys(among: members) { look(at: user, in: Self.soon) }
    }

    /// The feed reports that the user has read up to here.
    func read(_ user: ID, upTo seq: Int, _ stream: Stream) {
        if !stream.reading.readership.mark(user, upTo: seq) { look(at: user, in: Self.soon) }
    }

    /// How these users read is unknown from now on.
    func lost(_ users: [ID]) { for user in users { look(at: user, in: Self.soon) } }

    /// Checks the lists that are due, and asks for what is unknown.
    /// - Returns: the users whose lists must be read again, also after a failed read.
    func lookInTime() -> [ID] {
        // Of many logs that lost their ends together, the first are read for all.
        if isBranched, sync.isLinked, now >= branchedReadAfter {
            isBranched = false
            branchedReadAfter = now.adding(Self.soon)
            doubtAll()
            return followers.keys.inOrder
        }
        places = followers.values.reduce(0) { $0 + $1.conversations.count }
        let due = followers.filter { _, follower in
            (follower.retryAt ?? follower.looks.at).map { $0 <= now } ?? false
        }
        return due.keys.inOrder.filter { user in
            due[user]?.retryAt != nil || look(at: user)
        }
    }

    /// - Returns: whether the list must be read again.
    private func look(at user: ID) -> Bool {
        guard let follower = followers[user], !follower.isBeingRead, sync.isLinked else {
            return false
        }
        let unknown = follower.conversations.filter { !isKnown($0, to: user, follower) }
        guard follower.known == nil || !unknown.isEmpty else {
            followers[user]?.looks.futile = 0
            followers[user]?.looks.at = now.adding(Self.late)
            return false
        }
        // A long list is read less often, in proportion to its cost.
        let pause = max(Self.soon, Int64(follower.conversations.count))
        followers[user]?.looks.at = now.adding(pause << Int64(min(follower.looks.futile, 6)))
        // A conversation without a live feed can't be known.
        let isReady = unknown.allSatisfy { streams[$0]?.replica?.isLive ?? true }
        guard isReady, follower.isFollowed, places <= Self.placeLimit else { return false }
        followers[user]?.looks.futile += 1
        if follower.known != nil, unknown.count <= Self.fewUnknown,
            // The time of last activity is only in the list.
            follower.looks.futile == 0 || !unknown.contains(where: isMissingActivity)
        {
            for id in unknown.inOrder { ask(id, follower.user) }
            return false
        }
        return true
    }

    private func isMissingActivity(_ id: ID) -> Bool {
        guard let stream = streams[id], let state = stream.state else { return true }
        return stream.reading.readership.activity(at: state.position) == nil
    }

    /// Asks the origin how a user reads one conversation.
    func ask(_ conversation: ID, _ user: String) {
        guard let stream = streams[conversation] else { return }
        stream.reading.readership.expect(user.id, at: stream.state?.position)
        sync.fetcher.ask(
            .reader(user.id, FetchQueue.Subject(stream)),
            .conversation(stream.id, reader: user), 1)
    }
}

extension FetchQueue.Subject {
    /// The conversation in the answer of the origin; nil if the feed may not cover what follows.
    func view(
        in result: Result<HistoryAnswer, RequestError>, _ generation: Int
    ) -> ConversationView? {
        guard case .success(.conversation(let view)) = result, isCurrent,
            stream.replica?.generation == generation
        else { return nil }
        return view
    }
}

extension [ID: ListFollower] {
    /// Those of the users who have a list, searched from the smaller side.
    fileprivate func keys(among users: Set<ID>) -> Set<ID> {
        users.count < count
            ? users.filter { self[$0] != nil } : Set(keys.filter { users.contains($0) })
    }
}

extension Sequence<ID> {
    /// Sorted, so that every run has the same order.
    var inOrder: [ID] { sorted { $0.text < $1.text } }
}
