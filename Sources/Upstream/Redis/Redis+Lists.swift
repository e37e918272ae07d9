import Chat
import Ports
import Wire

/// A user's list of conversations. The key of it, in a slot of its own, holds every conversation in
/// which the user takes part, and perhaps some more, each with the moment at which it was put
/// there; whether the user takes part, and when something happened last, the conversation itself
/// says.
extension Redis {
    /// How long an entry may be without its conversation, in milliseconds: it is made first, and
    /// taken off only when whoever made it has surely written or given up.
    private static let entryGrace: Int64 = 60_000

    /// A conversation in a list: by activity, then by id, so that a cursor is a place.
    private struct Entry: Sendable {
        var activity: Int64
        var id: String

        var cursor: String { String(activity, radix: 36) + "." + id }

        init(activity: Int64, id: String) {
            self.activity = activity
            self.id = id
        }

        init?(cursor: String) {
            let parts = cursor.split(
                separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let activity = Int64(parts[0], radix: 36),
                Identifier.isValid(String(parts[1]))
            else { return nil }
            self.init(activity: activity, id: String(parts[1]))
        }

        func stands(before other: Entry) -> Bool {
            activity == other.activity
                ? other.id.utf8.lexicographicallyPrecedes(id.utf8) : activity > other.activity
        }
    }

    /// - Complexity: O(conversations of the user): each is looked up once, in one round trip.
    func list(
        of user: String, limit: Int, cursor: String?,
        then: @escaping @Sendable (Result<ConversationList, RequestError>) -> Void
    ) {
        let behind = cursor.flatMap { Entry(cursor: $0) }
        guard cursor == nil || behind != nil else {
            let text = "cursor: not a cursor (accepted: the `next` of an earlier answer)"
            return then(.failure(.badRequest(text)))
        }
        let words = [
            Array("ZRANGE".utf8), keys.list(of: user), Array("0".utf8), Array("-1".utf8),
            Array("WITHSCORES".utf8),
        ]
        servers.send([.words(words)]) { result in
            switch result {
            case .failure(let error): then(.failure(error))
            case .success(let replies):
                if let code = replies[0].errorCode {
                    return then(self.read(.error(code), .listed, "").map { _ in .empty })
                }
                let parts = replies[0].elements
                let listed = stride(from: 0, to: parts.count - parts.count % 2, by: 2).compactMap {
                    at in parts[at].string.map { (id: $0, madeAt: parts[at + 1].bytes ?? []) }
                }
                self.sort(listed, of: user) { result in
                    switch result {
                    case .failure(let error): then(.failure(error))
                    case .success(let entries):
                        self.show(entries, of: user, limit: limit, behind: behind, then: then)
                    }
                }
            }
        }
    }

    /// Those of the list in which the user really takes part, latest activity first.
    private func sort(
        _ listed: [(id: String, madeAt: [UInt8])], of user: String,
        then: @escaping @Sendable (Result<[Entry], RequestError>) -> Void
    ) {
        let questions = listed.map { command(.listed, of: $0.id, [Array(user.utf8)]) }
        servers.send(questions) { result in
            then(
                result.flatMap { replies in
                    var entries: [Entry] = []
                    for (place, reply) in zip(listed, replies) {
                        switch self.read(reply, .listed, place.id) {
                        case .success(let answer):
                            entries.append(Entry(activity: Int64(answer[1].int ?? 0), id: place.id))
                        case .failure(.noConversation): self.forget(place, user)
                        case .failure(let error): return .failure(error)
                        }
                    }
                    return .success(entries.sorted { $0.stands(before: $1) })
                })
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

    private func forget(_ place: (id: String, madeAt: [UInt8]), _ user: String) {
        let age =
            Embedded.systemTime().milliseconds
            - (Int64(String(decoding: place.madeAt, as: UTF8.self)) ?? 0)
        guard age > Self.entryGrace else { return }
        let arguments = [Array(place.id.utf8), place.madeAt]
        // Should it fail, the next one to read the list finds it again.
        servers.send([.script(.forget, keys: [keys.list(of: user)], arguments: arguments)]) { _ in
        }
    }

    private func show(
        _ entries: [Entry], of user: String, limit: Int, behind: Entry?,
        then: @escaping @Sendable (Result<ConversationList, RequestError>) -> Void
    ) {
        let rest = behind.map { cursor in entries.filter { cursor.stands(before: $0) } } ?? entries
        let page = Array(rest.prefix(limit))
        let questions = page.map { command(.view, of: $0.id, [Array(user.utf8)]) }
        servers.send(questions) { result in
            then(
                result.flatMap { replies in
                    var conversations: [ConversationView] = []
                    var taken = 0
                    var last: Entry?
                    for (entry, reply) in zip(page, replies) {
                        switch self.read(reply, .view, entry.id) {
                        case .success(let answer):
                            guard let view = RedisView(answer.parts, of: entry.id) else {
                                return .failure(.unreadable)
                            }
                            // The user may have left since the list was read.
                            if view.reader != nil {
                                let shown = view.shown
                                taken += shown.size
                                if taken > self.options.bytes, let last, !conversations.isEmpty {
                                    return .success(
                                        ConversationList(
                                            conversations: conversations, next: last.cursor,
                                            total: entries.count))
                                }
                                conversations.append(shown)
                            }
                            last = entry
                        case .failure(.noConversation): continue
                        case .failure(let error): return .failure(error)
                        }
                    }
                    return .success(
                        ConversationList(
                            conversations: conversations,
                            next: rest.count > limit ? page.last?.cursor : nil,
                            total: entries.count))
                })
        }
    }
}

extension ConversationList {
    fileprivate static let empty = ConversationList(conversations: [], next: nil, total: 0)
}
