import Chat
import Ports
import Wire

/// The lists of conversations that somebody watches, of logs that live elsewhere: what was read of
/// them, and what of that may be answered while the origin is away. That is a list which was read
/// whole and told of since, without a break, and of whose conversations the same is true.
///
/// It knows streams and asks the origin, and neither sessions nor who is told what.
final class Lists {
    /// By user.
    var listings: [ID: Listing] = [:]
    /// How often a list was read.
    private(set) var readings = 0
    /// How many conversations the readings that are kept have, all lists together.
    private var places = 0

    private let streams: StreamRegistry
    private let clock: Clock
    private let sync: Sync

    /// Of so many conversations it is kept how their users read them, all lists together: about
    /// 100 MiB. Lists beyond are not answered while the origin is away.
    static let placeLimit = 500_000
    /// So few that are not known are asked for one by one.
    private static let fewUnknown = 8
    /// How long after the last time what is known is looked at, in milliseconds: while something is
    /// missing, and otherwise.
    private static let soon: Int64 = 1000
    private static let late: Int64 = 60_000

    init(_ streams: StreamRegistry, _ clock: Clock, _ sync: Sync) {
        self.streams = streams
        self.clock = clock
        self.sync = sync
    }

    private var now: Timestamp { clock.now }

    subscript(_ user: ID) -> Listing? { listings[user] }

    /// A list is read somehow.
    func countReading() -> Int {
        readings += 1
        return readings
    }

    // MARK: - The feed

    /// The feed begins to tell of the list.
    func followed(_ user: ID) { listings[user]?.follow(readings: readings) }

    /// Every subscription of that generation has ended.
    func lapsed(generation: Int) {
        for user in listings.keys { listings[user]?.lapsed(generation: generation) }
    }

    /// The link is up again: nothing is known until it was read again.
    func doubtAll() { for user in listings.keys { listings[user]?.doubt() } }

    /// What was read of the list is not the newest that its user was shown.
    func doubt(_ user: ID) {
        listings[user]?.doubt()
        look(at: user, in: Self.soon)
    }

    /// One more needs the user's list.
    /// - Returns: whether it is new.
    func watch(_ user: String) -> Bool {
        let isNew = listings[user.id] == nil
        listings[user.id, default: Listing(user: user)].watchers += 1
        return isNew
    }

    /// One less needs it.
    /// - Returns: the list, if nobody does.
    func unwatch(_ user: ID) -> Listing? {
        listings[user]?.watchers -= 1
        return listings[user]?.watchers == 0 ? listings.removeValue(forKey: user) : nil
    }

    /// There is no such conversation any more.
    /// - Returns: whose lists showed it.
    func forget(_ conversation: ID) -> [String] {
        let shown = listings.values.filter { $0.shows(conversation) }.map(\.user)
        for user in listings.keys {
            _ = listings[user]?.remove(conversation, readings: readings)
            listings[user]?.left.remove(conversation)
        }
        return shown
    }

    /// Nobody watches it any more.
    func forget(_ listing: Listing, isNeeded: (Stream) -> Bool) {
        let user = listing.user.id
        for id in listing.conversations {
            guard let stream = streams[id], !isNeeded(stream) else { continue }
            stream.readership.remove(user)
        }
    }

    // MARK: - Reading

    /// - Returns: the number of the reading that begins; nil if one is under way.
    func beginReading(_ user: ID) -> Int? {
        guard let listing = listings[user] else { return nil }
        guard !listing.isBeingRead else {
            listings[user]?.isStale = true
            return nil
        }
        listings[user]?.beginReading(countReading())
        for id in listing.conversations where places <= Self.placeLimit {
            streams[id]?.readership.expect(user)
        }
        return readings
    }

    /// The list has come.
    /// - Parameter generation: of the feed that was under way all the time, 0 for none.
    func adopt(_ list: ListedHeads, of user: ID, _ generation: Int) {
        guard let reading = listings[user]?.reading else { return }
        for (id, reader) in list.readers {
            guard let head = list.heads[id], let stream = streams[id], let state = stream.state,
                stream.replica?.generation != nil, stream.followedSince < reading,
                // Whoever left and joined again since has another marker.
                head.rev >= state.record.rev
            else { continue }
            stream.readership.adopt(reader, of: user, at: head, position: state.position)
            if let activity = list.activity[id] { stream.readership.adopt(activity, at: head) }
        }
        listings[user]?.adopt(list.place, generation: generation)
        if listings[user]?.looks.futile == 0 { listings[user]?.looks.at = now }
    }

    /// What the origin says of how a user reads a conversation, where the feed tells of all that
    /// follows.
    func learn(_ view: ConversationView, of user: ID) {
        guard let reader = view.reader, let stream = streams[view.record.id.id],
            let state = stream.state, view.head.rev >= state.record.rev
        else { return }
        stream.readership.adopt(reader, of: user, at: view.head, position: state.position)
        // Of one that was deleted it is not known when it was sent.
        guard view.lastMessage?.seq ?? 0 == view.head.seq else { return }
        let sent = view.lastMessage?.createdAt.milliseconds ?? 0
        stream.readership.adopt(max(sent, view.record.updatedAt.milliseconds), at: view.head)
    }

    /// The origin was asked how a user reads one conversation.
    func took(
        _ subject: FetchQueue.Subject, of user: ID, _ generation: Int,
        _ result: Result<HistoryAnswer, RequestError>
    ) {
        guard case .success(.conversation(let view)) = result, subject.isCurrent,
            subject.stream.replica?.generation == generation
        else { return }
        if view.reader == nil { doubt(user) } else { learn(view, of: user) }
    }

    // MARK: - What users were shown

    /// An answer of the origin has shown a user these. What is answered later is not older.
    /// - Parameter total: how many there are in the list, if it said so.
    func showed(_ views: [ConversationView], of total: Int? = nil, to user: ID) {
        for view in views {
            streams[view.record.id.id]?.readership.saw(view.head.rev, view.reader, by: user)
        }
        guard let listing = listings[user], listing.known != nil else { return }
        let isNews = views.contains { view in
            let id = view.record.id.id
            return view.reader != nil
                && (!listing.conversations.contains(id) || listing.gone.contains(id))
        }
        let count = listing.conversations.count - listing.gone.count
        if isNews || total.map({ $0 != count }) ?? false { doubt(user) }
    }

    /// A write of the user's was done.
    func wrote(_ outcome: Outcome, _ request: Request, by user: ID) {
        switch outcome {
        case .conversation(let view, _): showed([view], to: user)
        case .read, .messages, .done:
            guard let conversation = request.written?.id else { return }
            let stream = streams[conversation]
            if case .read(let reader) = outcome {
                stream?.readership.saw(0, reader, by: user)
            } else if case .messages(let messages, _) = outcome {
                stream?.readership.saw(messages.map(\.rev).max() ?? 0, nil, by: user)
            } else if request.row.method == .leaveConversation
                || request.row.method == .deleteConversation
            {
                left(conversation, user)
            }
        }
    }

    /// The user was told not to take part in it any more.
    func left(_ conversation: ID, _ user: ID) {
        streams[conversation]?.readership.remove(user)
        listings[user]?.noteGone(conversation)
    }

    // MARK: - Looking at what is known

    /// Has what is known of the list looked at.
    func look(at user: ID, in milliseconds: Int64) {
        let moment = now.adding(milliseconds)
        guard let listing = listings[user], listing.looks.at.map({ $0 > moment }) ?? true else {
            return
        }
        listings[user]?.looks.at = moment
    }

    /// The stream has fallen behind its log: what is known of it may have to be read again.
    func fellBehind(_ stream: Stream) {
        guard let members = stream.state?.members, !listings.isEmpty else { return }
        for user in listings.keys(among: members) { look(at: user, in: Self.soon) }
    }

    /// The feed has told that the user has read up to here.
    func read(_ user: ID, upTo seq: Int, _ stream: Stream) {
        if !stream.readership.mark(user, upTo: seq) { look(at: user, in: Self.soon) }
    }

    /// Looks whether what is to be known is known, where it is time for that; asks for the rest.
    /// - Returns: whose lists are to be read again, also those that the origin did not answer.
    func lookInTime() -> [ID] {
        places = listings.values.reduce(0) { $0 + $1.conversations.count }
        let due = listings.filter { _, listing in
            (listing.retryAt ?? listing.looks.at).map { $0 <= now } ?? false
        }
        return due.keys.inOrder.filter { user in
            due[user]?.retryAt != nil || look(at: user)
        }
    }

    /// - Returns: whether the list is to be read again.
    private func look(at user: ID) -> Bool {
        guard let listing = listings[user], !listing.isBeingRead, sync.isLinked else {
            return false
        }
        let unknown = listing.conversations.filter { !isKnown($0, to: user, listing) }
        guard listing.known == nil || !unknown.isEmpty else {
            listings[user]?.looks.futile = 0
            listings[user]?.looks.at = now.adding(Self.late)
            return false
        }
        // A long list is not read more often than it is worth.
        let pause = max(Self.soon, Int64(listing.conversations.count))
        listings[user]?.looks.at = now.adding(pause << Int64(min(listing.looks.futile, 6)))
        // What is not followed yet can't be known.
        let isReady = unknown.allSatisfy { streams[$0]?.replica?.isLive ?? true }
        guard isReady, listing.isFollowed, places <= Self.placeLimit else { return false }
        listings[user]?.looks.futile += 1
        if listing.known != nil, unknown.count <= Self.fewUnknown,
            // When it was active last, only the list says of all.
            listing.looks.futile == 0 || !unknown.contains(where: isMissingActivity)
        {
            for id in unknown.inOrder { ask(id, listing) }
            return false
        }
        return true
    }

    private func isMissingActivity(_ id: ID) -> Bool {
        guard let stream = streams[id], let state = stream.state else { return true }
        return stream.readership.activity(at: state.position) == nil
    }

    private func ask(_ conversation: ID, _ listing: Listing) {
        guard let stream = streams[conversation] else { return }
        stream.readership.expect(listing.user.id)
        sync.ask(
            .reader(listing.user.id, FetchQueue.Subject(stream)),
            .conversation(stream.id, reader: listing.user), 1)
    }

    /// Whether the conversation can be shown, or is known not to be the user's.
    private func isKnown(_ id: ID, to user: ID, _ listing: Listing) -> Bool {
        guard let stream = streams[id], let state = stream.state else {
            return listing.gone.contains(id)
        }
        guard !listing.gone.contains(id) else { return !state.members.contains(user) }
        return stream.readership.activity(at: state.position) != nil
            && stream.readership.state(of: user, at: state.position) != nil
    }

    /// Whether there may be changes in the user's conversations that nobody here knows.
    func isOpen(_ user: ID) -> Bool {
        guard sync.isLinked, let listing = listings[user] else { return true }
        return listing.conversations.contains { streams[$0]?.isOpen ?? true }
    }

    // MARK: - Answers

    /// A part of the list; nil if it is not known.
    func page(
        of user: ID, _ limit: Int, behind text: String?, bytes: Int
    ) -> ConversationList? {
        let cursor = text.flatMap { ActivityCursor($0) }
        guard text == nil || cursor != nil else { return nil }
        return known(to: user)?.page(limit, behind: cursor, bytes: bytes)
    }

    /// The user's list; nil if it is not known, or not all of it.
    func known(to user: ID) -> KnownList? {
        guard let listing = listings[user], let reading = listing.known else { return nil }
        var entries: [KnownList.Entry] = []
        entries.reserveCapacity(listing.conversations.count)
        for id in listing.conversations {
            if listing.gone.contains(id) {
                // Gone, or there again: the log is behind the list, or the other way round.
                guard isKnown(id, to: user, listing) else { return nil }
                continue
            }
            guard let stream = streams[id], let view = stream.known(to: user),
                let activity = stream.readership.activity(at: view.head)
            else { return nil }
            entries.append(
                KnownList.Entry(
                    view, activity: max(activity, view.record.updatedAt.milliseconds)))
        }
        return KnownList(entries, place: reading.place, departed: listing.departed)
    }
}

extension Dictionary<ID, Listing> {
    /// Those of the users who have a list, found from the shorter side.
    fileprivate func keys(among users: Set<ID>) -> Set<ID> {
        users.count < count
            ? users.filter { self[$0] != nil } : Set(keys.filter { users.contains($0) })
    }
}

extension Sequence<ID> {
    /// The same in each run, whatever order they come in.
    var inOrder: [ID] { sorted { $0.text < $1.text } }
}

extension Stream {
    /// The conversation as of where the stream stands; nil if that is not known, or not of that one
    /// moment, or if the user does not take part then.
    func known(to user: ID) -> ConversationView? {
        guard let state, state.isOfOneMoment, !needsLast, state.members.contains(user),
            let reader = readership.state(of: user, at: state.position)
        else { return nil }
        return ConversationView(
            record: state.record, lastMessage: state.last, head: state.head, reader: reader)
    }
}

extension Stream.State {
    /// Nothing is known above the position.
    fileprivate var isOfOneMoment: Bool {
        head.epoch == position.epoch && head.rev == position.rev && record.rev <= position.rev
            && last?.rev ?? 0 <= position.rev
    }
}
