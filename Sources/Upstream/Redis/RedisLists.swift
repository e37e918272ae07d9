import Chat
import Crypto
import Ports
import Wire

/// A user's list of conversations, and its log of departures; the scripts describe how they are
/// stored. Three rules keep them right, whichever gateway dies in between, and without a gateway's
/// clock:
/// - The entry is written before the conversation says that a user joined, each time with a new
///   time. Readers find a superfluous entry, but can't find a missing one.
/// - A user who leaves is removed only if the entry is the one seen before the conversation said
///   so: an entry for a new join has another time.
/// - A reader of the list looks up each conversation, and enters in the log of departures those
///   that the user has left and that are not in it. Such an entry is removed only when it is a day
///   old by the clock that made it, since the user may be about to join.
///
/// A damaged list is not answered (`RedisLists+Reading`), and is rebuilt (`ListMender`).
///
/// Changes are found by comparing: a token is a digest of all conversations' heads.
final class RedisLists: Sendable {
    /// A day in milliseconds.
    private static let day = 86_400_000

    let scripts: RedisScripts
    let mender: ListMender

    init(_ scripts: RedisScripts, _ mender: ListMender) {
        self.scripts = scripts
        self.mender = mender
    }

    // MARK: reading

    /// - Complexity: O(conversations of the user): each is looked up once, in one batch a server.
    func list(
        of user: String, limit: Int, cursor: String?,
        then: @escaping @Sendable (Result<ConversationList, RequestError>) -> Void
    ) {
        let behind = cursor.flatMap { ActivityCursor($0) }
        guard cursor == nil || behind != nil else {
            let text = "cursor: not a cursor (accepted: the `next` of an earlier answer)"
            return then(.failure(RequestError(.cursorInvalid, text)))
        }
        readList(of: user, knowing: nil) { result in
            switch result {
            case .failure(let error): then(.failure(error))
            case .success(let reading):
                self.show(reading, of: user, limit: limit, behind: behind, then: then)
            }
        }
    }

    /// The changes of a list since the token.
    func list(
        of user: String, since text: String?, limit: Int,
        then: @escaping @Sendable (Result<ConversationChanges, RequestError>) -> Void
    ) {
        let token = text.flatMap { ListPlaceToken($0) }
        readList(of: user, knowing: token) { result in
            switch result {
            case .failure(let error): then(.failure(error))
            case .success(let reading):
                let news = token.flatMap { reading.news(since: $0) }
                if news == nil, reading.isKnown, self.scripts.options.isCluster {
                    // Its log is of another node, and says that nothing else left.
                    self.mender.mend(ListMender.Need(user: user, renewsLog: true))
                    return then(.failure(.listIsCut))
                }
                // A conversation takes at least 512 bytes.
                guard let news, news.entries.count <= self.scripts.options.bytes / 512 else {
                    return self.begin(reading, of: user, limit: limit, then: then)
                }
                self.views(news.entries, of: user) { result in
                    switch result {
                    case .failure(let error): then(.failure(error))
                    case .success(let views):
                        let size = views.reduce(0) { $0 + $1.size }
                        guard size <= self.scripts.options.bytes else {
                            return self.begin(reading, of: user, limit: limit, then: then)
                        }
                        let changes = ConversationChanges(
                            conversations: views, removed: news.removed,
                            total: reading.entries.count, token: reading.token, complete: true,
                            unread: reading.unread, heads: reading.heads)
                        then(.success(changes))
                    }
                }
            }
        }
    }

    /// The heads of all conversations of a list.
    func heads(
        of user: String,
        then: @escaping @Sendable (Result<ListedHeads, RequestError>) -> Void
    ) {
        readList(of: user, knowing: nil) { result in
            then(result.map { $0.listed })
        }
    }

    /// The whole list, for a reader without a valid token.
    private func begin(
        _ reading: ListReading, of user: String, limit: Int,
        then: @escaping @Sendable (Result<ConversationChanges, RequestError>) -> Void
    ) {
        show(reading, of: user, limit: limit, behind: nil) { result in
            then(
                result.map { list in
                    ConversationChanges(
                        conversations: list.conversations, removed: [], total: list.total,
                        token: reading.token, complete: false, unread: reading.unread,
                        heads: reading.heads)
                })
        }
    }

    /// Looks up the listed conversations: keeps those in which the user takes part, and handles the
    /// others.
    func look(
        at listed: [(id: String, madeAt: [UInt8])], of user: String, _ log: OpenList,
        then: @escaping @Sendable (Result<ListReading, RequestError>) -> Void
    ) {
        let questions = listed.map { scripts.command(.listed, of: $0.id, [Array(user.utf8)]) }
        scripts.servers.send(questions) { result in
            do throws(RequestError) {
                var entries: [ListEntry] = []
                var left: [String] = []
                var strays: [(id: String, madeAt: [UInt8])] = []
                for (place, reply) in zip(listed, try result.get()) {
                    switch self.scripts.read(reply, .listed, place.id) {
                    case .success(let answer) where answer.word == "out":
                        let made = String(decoding: place.madeAt, as: UTF8.self)
                        let seen = "\(answer[1].string ?? ""):\(answer[2].string ?? "")"
                        left.append("\(place.id)\t\(made):\(seen)")
                        strays.append(place)
                    case .failure(.noConversation):
                        left.append("\(place.id)\t\(String(decoding: place.madeAt, as: UTF8.self))")
                        strays.append(place)
                    case .success(let answer):
                        guard let entry = ListEntry(answer, of: place.id) else {
                            throw .unreadable
                        }
                        entries.append(entry)
                    case .failure(let error): throw error.inList(at: place.id)
                    }
                }
                self.forget(strays, of: user, ifOlderThan: log.now - Self.day)
                let reading = ListReading(
                    entries: entries.sorted { $0.place.stands(before: $1.place) },
                    place: log.place, isKnown: log.isKnown, gone: log.gone,
                    out: strays.map(\.id))
                self.note(left, of: user, log, reading, then: then)
            } catch {
                then(.failure(error))
            }
        }
    }

    /// Enters in the log what was found: departures, and other entries than the reading before. If
    /// that fails, the next reader finds them again.
    private func note(
        _ left: [String], of user: String, _ log: OpenList, _ reading: ListReading,
        then: @escaping @Sendable (Result<ListReading, RequestError>) -> Void
    ) {
        guard !left.isEmpty || !log.isPlaced, let place = reading.place else {
            return then(.success(reading))
        }
        depart(left, from: user, log.print, readAt: place.seq) { result in
            var reading = reading
            reading.isPlaceExact = false
            // No place stands for these entries, so the next token can't be proved.
            if !log.isPlaced { reading.place = nil }
            guard case .success(let answer) = result else {
                reading.gone += left.compactMap { Self.departed(Array($0.utf8)) }
                return then(.success(reading))
            }
            // Departures that were in the log already concern older tokens only.
            reading.gone += answer[4].elements.compactMap { Self.departed($0.bytes ?? []) }
            // What others entered meanwhile may be in the reading still.
            if answer[1].int == 0, let seq = answer[2].place {
                reading.place = (seq, answer[3].bytes ?? [])
                reading.isPlaceExact = true
            }
            then(.success(reading))
        }
    }

    /// Removes stale entries, in one job.
    private func forget(
        _ places: [(id: String, madeAt: [UInt8])], of user: String, ifOlderThan moment: Int
    ) {
        let commands = places.compactMap { place -> RedisCommand? in
            let madeAt = Int(String(decoding: place.madeAt, as: UTF8.self)) ?? 0
            guard madeAt < moment else { return nil }
            let arguments = [Array(place.id.utf8), place.madeAt]
            return .script(.forget, keys: [scripts.keys.list(of: user)], arguments: arguments)
        }
        guard !commands.isEmpty else { return }
        // If it fails, the next reader of the list finds them again.
        scripts.servers.send(commands) { _ in }
    }

    // MARK: writing

    /// The command that puts a conversation in a list; the list has a tag from then on.
    func entering(_ user: String, _ conversation: String) -> RedisCommand {
        let arguments = [Array(conversation.utf8), Array(Random.hex(8).utf8)]
        return .script(.enter, keys: [scripts.keys.list(of: user)], arguments: arguments)
    }

    /// Enters a conversation that lost its end in the lists of all who take part, and tells their
    /// watchers: in a cluster the lists lie elsewhere and may have gone on, so that one which the
    /// conversation lost the departure from lacks it.
    /// - Parameter cursor: of a walk through the members.
    func enterAgain(_ conversation: String, from cursor: [UInt8] = Array("0".utf8)) {
        guard scripts.options.isCluster else { return }
        let members = scripts.keys.members(of: conversation)
        let step = RedisCommand.words([
            Array("HSCAN".utf8), members, cursor, Array("COUNT".utf8), Array("500".utf8),
        ])
        Payer.$current.withValue(.gateway) {
            scripts.servers.send([step]) { result in
                guard case .success(let replies) = result, let next = replies[0].elements.first,
                    let found = replies[0].elements.last?.elements
                else { return }
                let users = stride(from: 0, to: found.count, by: 2).compactMap { found[$0].bytes }
                    // The tag of the log, and what is counted, begin with a tab.
                    .filter { $0.first != UInt8(ascii: "\t") }
                    .map { String(decoding: $0, as: UTF8.self) }
                self.enter(conversation, users)
                guard let next = next.bytes, next != Array("0".utf8) else { return }
                self.enterAgain(conversation, from: next)
            }
        }
    }

    private func enter(_ conversation: String, _ users: [String]) {
        scripts.servers.send(users.map { entering($0, conversation) }) { result in
            guard case .success(let entered) = result else { return }
            self.noteTags(entered[...], of: users) { _ in
                self.tell(users, conversation, isIn: true)
            }
        }
    }

    /// The command that reads an entry's time, to recognize the entry later.
    func entry(of user: String, _ conversation: String) -> RedisCommand {
        .words([Array("ZSCORE".utf8), scripts.keys.list(of: user), Array(conversation.utf8)])
    }

    /// Removes a conversation from the lists of users who left it, if their entries are still
    /// these. What fails is done by the next reader of the list.
    func takeOff(_ conversation: String, _ users: [String], _ entries: [RedisReply]) {
        guard !users.isEmpty else { return }
        let departure = Array("\(conversation)\t\(Random.hex(8))".utf8)
        scripts.servers.send(users.map { departing([departure], from: $0) }) { result in
            guard case .success(let replies) = result else { return }
            var commands: [RedisCommand] = []
            for (at, user) in users.enumerated() where replies[at].errorCode == nil {
                guard at < entries.count, let moment = entries[at].bytes else { continue }
                commands.append(
                    .script(
                        .forget, keys: [self.scripts.keys.list(of: user)],
                        arguments: [Array(conversation.utf8), moment]))
            }
            self.scripts.servers.send(commands) { _ in }
        }
    }

    /// - Parameters:
    ///   - print: of the list as it was read; empty if it was not.
    ///   - place: at which it was read.
    func departing(
        _ departures: [[UInt8]], from user: String, _ print: [UInt8] = [], readAt place: Int = 0
    ) -> RedisCommand {
        var arguments = [Random.bytes(8), print, Random.bytes(8), Array(String(place).utf8)]
        for departure in departures { arguments += [Random.bytes(8), departure] }
        return .script(.depart, keys: scripts.keys.departures(of: user), arguments: arguments)
    }

    func depart(
        _ departures: [String], from user: String, _ print: [UInt8], readAt place: Int,
        then: @escaping @Sendable (Result<RedisScripts.Answer, RequestError>) -> Void
    ) {
        let command = departing(
            departures.map { Array($0.utf8) }, from: user, print, readAt: place)
        scripts.servers.send([command]) { result in
            then(result.flatMap { self.scripts.read($0[0], .depart, "a list") })
        }
    }

    /// Publishes to watchers of these lists. A list lies in another slot than the conversation, so
    /// the event comes after the change and may be lost: watchers read the list again from time to
    /// time.
    func tell(_ users: [String], _ conversation: String, isIn: Bool) {
        let told = RedisEvent.listed(conversation, isIn: isIn)
        let commands = users.map { user in
            let channel = scripts.keys.channel(of: .list(user.id))
            return RedisCommand.words([scripts.options.publishing, channel, told])
        }
        scripts.servers.send(commands) { _ in }
    }

    // MARK: showing

    /// The views of conversations; those that the user has left meanwhile are skipped.
    private func views(
        _ entries: [ListEntry], of user: String,
        then: @escaping @Sendable (Result<[ConversationView], RequestError>) -> Void
    ) {
        let questions = entries.map {
            scripts.command(.view, of: $0.id, [user, "0", "1"].map { Array($0.utf8) })
        }
        scripts.servers.send(questions) { result in
            do throws(RequestError) {
                var views: [ConversationView] = []
                for (entry, reply) in zip(entries, try result.get()) {
                    switch self.scripts.read(reply, .view, entry.id) {
                    case .success(let answer):
                        guard let view = StoredConversation(answer.parts, of: entry.id) else {
                            throw .unreadable
                        }
                        if view.reader != nil { views.append(view.shown) }
                    case .failure(.noConversation): continue
                    case .failure(let error): throw error
                    }
                }
                then(.success(views))
            } catch {
                then(.failure(error))
            }
        }
    }

    private func show(
        _ reading: ListReading, of user: String, limit: Int, behind: ActivityCursor?,
        then: @escaping @Sendable (Result<ConversationList, RequestError>) -> Void
    ) {
        let entries = reading.entries
        let rest =
            behind.map { cursor in entries.filter { cursor.stands(before: $0.place) } } ?? entries
        let page = Array(rest.prefix(limit))
        views(page, of: user) { result in
            then(
                result.map { views in
                    var list = ConversationList(
                        conversations: [], next: rest.count > limit ? page.last?.place.text : nil,
                        total: entries.count, unread: reading.unread)
                    let places = Dictionary(
                        page.map { (Array($0.id.utf8), $0.place) }, uniquingKeysWith: { $1 })
                    var taken = 0
                    for view in views {
                        taken += view.size
                        if taken > self.scripts.options.bytes, let last = list.conversations.last {
                            list.next = places[Array(last.record.id.utf8)]?.text
                            break
                        }
                        list.conversations.append(view)
                    }
                    return list
                })
        }
    }
}

extension ListReading {
    /// The heads, markers and place of the list.
    var listed: ListedHeads {
        ListedHeads(
            heads: heads, readers: readers,
            activity: Dictionary(
                entries.map { ($0.id.id, $0.activity) }, uniquingKeysWith: { $1 }),
            place: isPlaceExact
                ? place.map { ListPlace(seq: $0.seq, mark: Hexadecimal.text($0.mark)) } : nil)
    }

    var heads: [ID: Head] {
        Dictionary(entries.map { ($0.id.id, $0.head) }, uniquingKeysWith: { $1 })
    }

    /// The user's read markers.
    var readers: [ID: ReaderState] {
        Dictionary(entries.map { ($0.id.id, $0.reader) }, uniquingKeysWith: { $1 })
    }
}
