import Chat
import Crypto
import Ports
import Wire

/// A user's list of conversations, and the log of what left it; how they lie in Redis is written at
/// the scripts. Three rules keep them right, whoever dies in between, and by nobody's clock:
/// - Whoever joins has the entry before the conversation says so, each time with another moment.
///   An entry too many is found out, one too few is not.
/// - Whoever leaves is taken off only if the entry is the one that was seen before the conversation
///   said so: the entry of somebody who is about to join again has another moment.
/// - Who reads the list looks at each conversation, and enters those in the log of departures that
///   the user has left and that are not there. Such an entry is taken off only when it is a day
///   old by the clock that made it, since the user may be about to join.
///
/// A list of which a part is gone is not answered (`Redis+ListReading`), and is put together again
/// (`ListMender`).
///
/// News is found by comparing: a token holds where all conversations stood.
extension Redis {
    /// In milliseconds.
    private static let day = 86_400_000

    // MARK: reading

    /// - Complexity: O(conversations of the user): each is looked up once, in one batch a server.
    func list(
        of user: String, limit: Int, cursor: String?,
        then: @escaping @Sendable (Result<ConversationList, RequestError>) -> Void
    ) {
        let behind = cursor.flatMap { ActivityCursor($0) }
        guard cursor == nil || behind != nil else {
            let text = "cursor: not a cursor (accepted: the `next` of an earlier answer)"
            return then(.failure(.badRequest(text)))
        }
        readList(of: user, knowing: nil) { result in
            switch result {
            case .failure(let error): then(.failure(error))
            case .success(let reading):
                self.show(reading, of: user, limit: limit, behind: behind, then: then)
            }
        }
    }

    /// What changed in a list.
    func list(
        of user: String, since text: String?, limit: Int,
        then: @escaping @Sendable (Result<ConversationChanges, RequestError>) -> Void
    ) {
        let token = text.flatMap { ListPlaceToken($0) }
        readList(of: user, knowing: token) { result in
            switch result {
            case .failure(let error): then(.failure(error))
            case .success(let reading):
                // Each takes so much at least.
                guard let token, let news = reading.news(since: token),
                    news.entries.count <= self.options.bytes / 512
                else { return self.begin(reading, of: user, limit: limit, then: then) }
                self.views(news.entries, of: user) { result in
                    switch result {
                    case .failure(let error): then(.failure(error))
                    case .success(let views):
                        let size = views.reduce(0) { $0 + $1.size }
                        guard size <= self.options.bytes else {
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

    /// Where all conversations of a list stand.
    func heads(
        ofList user: String,
        then: @escaping @Sendable (Result<ListedHeads, RequestError>) -> Void
    ) {
        readList(of: user, knowing: nil) { result in
            then(result.map { $0.listed })
        }
    }

    /// The list as to somebody who knows nothing of it.
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

    /// Those of the list in which the user really takes part, and what becomes of the others.
    func look(
        at listed: [(id: String, madeAt: [UInt8])], of user: String, _ log: OpenList,
        then: @escaping @Sendable (Result<ListReading, RequestError>) -> Void
    ) {
        let questions = listed.map { command(.listed, of: $0.id, [Array(user.utf8)]) }
        servers.send(questions) { result in
            do throws(RequestError) {
                var entries: [ListEntry] = []
                var left: [String] = []
                var strays: [(id: String, madeAt: [UInt8])] = []
                for (place, reply) in zip(listed, try result.get()) {
                    switch self.read(reply, .listed, place.id) {
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
                    place: log.place, isKnown: log.isKnown, gone: log.gone)
                self.note(left, of: user, reading, then: then)
            } catch {
                then(.failure(error))
            }
        }
    }

    /// Enters in the log who was found to have left. Should that fail, the next one finds them.
    private func note(
        _ left: [String], of user: String, _ reading: ListReading,
        then: @escaping @Sendable (Result<ListReading, RequestError>) -> Void
    ) {
        guard !left.isEmpty, let place = reading.place else { return then(.success(reading)) }
        depart(left, from: user) { result in
            var reading = reading
            reading.isPlaceExact = false
            guard case .success(let answer) = result else {
                reading.gone += left.compactMap { Self.departed(Array($0.utf8)) }
                return then(.success(reading))
            }
            // What was there before is told to those whose token is older.
            reading.gone += answer[4].elements.compactMap { Self.departed($0.bytes ?? []) }
            // Only if nobody else was entered meanwhile is the newest place one that was read.
            if answer[1].int == place.seq, let seq = answer[2].place {
                reading.place = (seq, answer[3].bytes ?? [])
                reading.isPlaceExact = true
            }
            then(.success(reading))
        }
    }

    /// Forgets entries that lead nowhere, in one job.
    private func forget(
        _ places: [(id: String, madeAt: [UInt8])], of user: String, ifOlderThan moment: Int
    ) {
        let commands = places.compactMap { place -> RedisCommand? in
            let madeAt = Int(String(decoding: place.madeAt, as: UTF8.self)) ?? 0
            guard madeAt < moment else { return nil }
            let arguments = [Array(place.id.utf8), place.madeAt]
            return .script(.forget, keys: [keys.list(of: user)], arguments: arguments)
        }
        guard !commands.isEmpty else { return }
        // Should it fail, the next one to read the list finds them again.
        servers.send(commands) { _ in }
    }

    // MARK: writing

    /// Puts a conversation in a list, which has a tag from then on.
    func entering(_ user: String, _ conversation: String) -> RedisCommand {
        let arguments = [Array(conversation.utf8), Array(Random.hex(8).utf8)]
        return .script(.enter, keys: [keys.list(of: user)], arguments: arguments)
    }

    /// Asks for the moment of an entry, to know it again.
    func entry(of user: String, _ conversation: String) -> RedisCommand {
        .words([Array("ZSCORE".utf8), keys.list(of: user), Array(conversation.utf8)])
    }

    /// Takes a conversation off the lists of those who have left it, whose entries were these
    /// before they did. What of it fails is done by who reads the list.
    func takeOff(_ conversation: String, _ users: [String], _ entries: [RedisReply]) {
        guard !users.isEmpty else { return }
        let departure = Array("\(conversation)\t\(Random.hex(8))".utf8)
        servers.send(users.map { departing([departure], from: $0) }) { result in
            guard case .success(let replies) = result else { return }
            var commands: [RedisCommand] = []
            for (at, user) in users.enumerated() where replies[at].errorCode == nil {
                guard at < entries.count, let moment = entries[at].bytes else { continue }
                commands.append(
                    .script(
                        .forget, keys: [self.keys.list(of: user)],
                        arguments: [Array(conversation.utf8), moment]))
            }
            self.servers.send(commands) { _ in }
        }
    }

    func departing(_ departures: [[UInt8]], from user: String) -> RedisCommand {
        var arguments = [Random.bytes(8)]
        for departure in departures { arguments += [Random.bytes(8), departure] }
        return .script(.depart, keys: keys.departures(of: user), arguments: arguments)
    }

    func depart(
        _ departures: [String], from user: String,
        then: @escaping @Sendable (Result<Answer, RequestError>) -> Void
    ) {
        servers.send([departing(departures.map { Array($0.utf8) }, from: user)]) { result in
            then(result.flatMap { self.read($0[0], .depart, "a list") })
        }
    }

    /// Tells those who look at these lists. A list lies in another slot than the conversation, and
    /// so it is told behind the change and may be lost: whoever looks at a list reads it again from
    /// time to time.
    func tellLists(of users: [String], _ conversation: String, isIn: Bool) {
        let told = RedisEvent.listed(conversation, isIn: isIn)
        let commands = users.map { user in
            let channel = keys.channel(of: .list(user.id))
            return RedisCommand.words([publishing, channel, told])
        }
        servers.send(commands) { _ in }
    }

    // MARK: showing

    /// Conversations as a reply shows them; those that the user has left meanwhile are left out.
    private func views(
        _ entries: [ListEntry], of user: String,
        then: @escaping @Sendable (Result<[ConversationView], RequestError>) -> Void
    ) {
        let questions = entries.map {
            command(.view, of: $0.id, [user, "0", "1"].map { Array($0.utf8) })
        }
        servers.send(questions) { result in
            do throws(RequestError) {
                var views: [ConversationView] = []
                for (entry, reply) in zip(entries, try result.get()) {
                    switch self.read(reply, .view, entry.id) {
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
                        if taken > self.options.bytes, let last = list.conversations.last {
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
    /// Where all of it stands.
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

    /// How the user reads them.
    var readers: [ID: ReaderState] {
        Dictionary(entries.map { ($0.id.id, $0.reader) }, uniquingKeysWith: { $1 })
    }
}
