import Chat
import Ports
import Rules
import Wire

/// Who reacts to messages, read from Redis.
extension RedisHistory {
    func reactions(
        to message: String, of conversation: String, _ request: ReactionsRequest, for user: String,
        then answer: @escaping @Sendable (Result<ReactionList, RequestError>) -> Void
    ) {
        let asked = [
            user, message, request.key ?? "", String(request.after), String(request.limit + 1),
        ]
        scripts.run(.reactions, of: conversation, asked.map { Array($0.utf8) }) { result in
            answer(
                result.flatMap { read in
                    if read.word == "missing" { return .failure(.noMessage) }
                    guard let value = read[1].elements.last?.bytes,
                        let slot = StoredMessage(value), let entries = Self.entries(read[2])
                    else { return .failure(.unreadable) }
                    // Of each key the oldest: together the oldest of all.
                    let oldest = entries.sorted { $0.rev < $1.rev }.prefix(request.limit + 1)
                    return .success(
                        ReactionList(Array(oldest), of: slot.reactions?.shown ?? [], request))
                })
        }
    }

    /// Key, rev, time and user of each; nil if that is not what it is.
    private static func entries(_ reply: RedisReply) -> [ReactionList.Entry]? {
        let texts = reply.elements.compactMap(\.string)
        guard texts.count == reply.elements.count, texts.count.isMultiple(of: 4) else { return nil }
        var entries: [ReactionList.Entry] = []
        for at in stride(from: 0, to: texts.count, by: 4) {
            guard let rev = Int(texts[at + 1]), let time = Int64(texts[at + 2]) else { return nil }
            entries.append(
                .init(
                    user: texts[at + 3], key: texts[at], at: Timestamp(milliseconds: time),
                    rev: rev))
        }
        return entries
    }

    func ownReactions(
        in conversation: String, after: Int, before: Int, of user: String,
        then answer: @escaping @Sendable (Result<[OwnReactions], RequestError>) -> Void
    ) {
        let asked = [user, String(after), String(before)]
        scripts.run(.own, of: conversation, asked.map { Array($0.utf8) }) { result in
            answer(
                result.flatMap { read in
                    let found = read[1].elements
                    var own: [(seq: Int, key: String)] = []
                    for at in stride(from: 0, to: found.count - 1, by: 2) {
                        guard let seq = found[at].place, let key = found[at + 1].string else {
                            return .failure(.unreadable)
                        }
                        own.append((seq, key))
                    }
                    return .success([OwnReactions](own))
                })
        }
    }
}

extension RedisHistory {
    /// Where others mention a user.
    func mentions(
        of user: String, in conversation: String, after: Int, limit: Int,
        then answer: @escaping @Sendable (Result<MentionList, RequestError>) -> Void
    ) {
        let asked = [user, String(after), String(limit)]
        scripts.run(.mentions, of: conversation, asked.map { Array($0.utf8) }) { result in
            answer(
                result.flatMap { read in
                    let found = read[2].elements
                    var places: [MentionList.Place] = []
                    for at in stride(from: 0, to: found.count - 1, by: 2) {
                        guard let seq = found[at].place, let id = found[at + 1].string else {
                            return .failure(.unreadable)
                        }
                        places.append(MentionList.Place(id: id, seq: seq))
                    }
                    return .success(MentionList(places: places, total: read[1].int ?? 0))
                })
        }
    }
}

extension Redis {
    func isEnabled(then: @escaping @Sendable (Result<Bool, RequestError>) -> Void) {
        if enabled.isKnown { return then(.success(true)) }
        let ask = RedisCommand.words([Array("GET".utf8), scripts.keys.enabled])
        scripts.servers.send([ask]) { [enabled] result in
            then(result.map { enabled.note($0[0].string) })
        }
    }

    package func enable(then: @escaping @Sendable (Result<Void, RequestError>) -> Void) {
        let set = RedisCommand.words([
            Array("SET".utf8), scripts.keys.enabled, Array(EnabledVersion.present.utf8),
        ])
        scripts.servers.send([set]) { result in
            then(
                result.flatMap { replies in
                    replies[0].errorCode == nil ? .success(()) : .failure(.refusedForNow)
                })
        }
    }
}
