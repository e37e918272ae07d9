import Chat
import JSON
import Ports
import Rules
import Wire

/// Who reacts to messages, read from Postgres.
extension SeenReactions {
    /// Those in an answer of `look`.
    init(_ answer: JSONObject, of slot: StoredMessage) {
        own = answer["own"]?.array?.compactMap(\.string) ?? []
        view = ReactionView(
            shown: slot.reactions?.shown ?? [],
            keys: answer["keys"]?.array?.compactMap(\.string) ?? [],
            next: answer["next"]?.string, takesPart: answer["takesPart"]?.bool ?? false)
    }
}

extension PostgresUpstream {
    func isEnabled(then: @escaping @Sendable (Result<Bool, RequestError>) -> Void) {
        if enabled.isKnown { return then(.success(true)) }
        answers.pool.read(Array(#"{"q":"enabled"}"#.utf8)) { [enabled] result in
            then(
                result.map { answer in
                    enabled.note(answer["enabled"]?.bool == true ? EnabledVersion.present : nil)
                })
        }
    }
}

extension PostgresUpstream {
    package func enable(then: @escaping @Sendable (Result<Void, RequestError>) -> Void) {
        answers.pool.signal(Array(#"{"s":"enable"}"#.utf8), isDurable: true) { result in
            then(result.map { _ in })
        }
    }
}

extension PostgresHistory {
    func reactions(
        to message: String, of conversation: String, _ request: ReactionsRequest, for user: String,
        then answer: @escaping @Sendable (Result<ReactionList, RequestError>) -> Void
    ) {
        answers.read("reactions", conversation) { json in
            json.member("user", string: user)
            json.member("id", string: message)
            if let key = request.key { json.member("key", string: key) }
            json.member("after", int: request.after)
            json.member("limit", int: request.limit + 1)
        } then: { result in
            answer(
                result.flatMap { read in
                    if read.word == "missing" { return .failure(.noMessage) }
                    guard let message = read["message"].flatMap({ PostgresMessage($0) }),
                        let rows = read["entries"]?.array
                    else { return .failure(.unreadable) }
                    let entries = rows.compactMap { ReactionList.Entry(postgres: $0) }
                    guard entries.count == rows.count else { return .failure(.unreadable) }
                    return .success(
                        ReactionList(entries, of: message.slot.reactions?.shown ?? [], request))
                })
        }
    }

    func ownReactions(
        in conversation: String, after: Int, before: Int, of user: String,
        then answer: @escaping @Sendable (Result<[OwnReactions], RequestError>) -> Void
    ) {
        answers.read("own", conversation) { json in
            json.member("user", string: user)
            json.member("after", int: after)
            json.member("before", int: before)
        } then: { result in
            answer(
                result.flatMap { read in
                    guard let rows = read["own"]?.array else { return .failure(.unreadable) }
                    var own: [(seq: Int, key: String)] = []
                    for row in rows.compactMap(\.object) {
                        guard let seq = row["seq"]?.place, let key = row["key"]?.string else {
                            return .failure(.unreadable)
                        }
                        own.append((seq, key))
                    }
                    return .success([OwnReactions](own))
                })
        }
    }
}

extension PostgresHistory {
    /// Where others mention a user.
    func mentions(
        of user: String, in conversation: String, after: Int, limit: Int,
        then answer: @escaping @Sendable (Result<MentionList, RequestError>) -> Void
    ) {
        answers.read("mentions", conversation) { json in
            json.member("user", string: user)
            json.member("after", int: after)
            json.member("limit", int: limit)
        } then: { result in
            answer(
                result.flatMap { read in
                    var places: [MentionList.Place] = []
                    for row in (read["places"]?.array ?? []).compactMap(\.object) {
                        guard let id = row["id"]?.string, let seq = row["seq"]?.place else {
                            return .failure(.unreadable)
                        }
                        places.append(MentionList.Place(id: id, seq: seq))
                    }
                    return .success(
                        MentionList(places: places, total: read["total"]?.int ?? 0))
                })
        }
    }
}

extension ReactionList.Entry {
    fileprivate init?(postgres value: RawJSON) {
        guard let object = value.object, let user = object["user"]?.string,
            let key = object["key"]?.string, let rev = object["rev"]?.place,
            let at = object["at"]?.int
        else { return nil }
        self.init(user: user, key: key, at: Timestamp(milliseconds: Int64(at)), rev: rev)
    }
}
