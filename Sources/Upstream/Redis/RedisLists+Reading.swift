import Chat
import Crypto
import Ports
import Wire

/// The entries of a list, with its tag and count.
struct ListedEntries: Sendable {
    private(set) var all: [(id: String, madeAt: [UInt8])] = []
    /// Nil if an earlier version created the list, or if there is none.
    private(set) var tag: [UInt8]?
    /// The number of entries that there must be at least.
    private(set) var count = 0

    /// - Parameter reply: of `ZRANGE … WITHSCORES`; scores are times.
    init(_ reply: RedisReply) {
        let parts = reply.elements
        for at in stride(from: 0, to: parts.count - parts.count % 2, by: 2) {
            guard let name = parts[at].bytes else { continue }
            let moment = parts[at + 1].bytes ?? []
            if name.first == UInt8(ascii: "\t") {
                tag = Array(name.dropFirst())
                let number = Int(String(decoding: moment, as: UTF8.self)) ?? 0
                count = number - RedisScript.tagMoment
            } else {
                all.append((String(decoding: name, as: UTF8.self), moment))
            }
        }
    }

    /// Whether entries are missing.
    var isCut: Bool { tag != nil && all.count < count }

    /// Stands for exactly these entries.
    var print: [UInt8] {
        let sum = all.reduce(UInt64(0)) { sum, entry in
            let hash = CollectionOfOne(0).fnv1a(after: entry.id.utf8.fnv1a())
            return sum &+ entry.madeAt.fnv1a(after: hash).mixed
        }
        return Array(String(sum, radix: 16).utf8)
    }
}

/// Reads lists, and detects damaged ones.
extension RedisLists {
    /// A list's log of departures, before its conversations are looked up.
    struct OpenList: Sendable {
        var now: Int
        var place: (seq: Int, mark: [UInt8])?
        var isKnown = false
        var gone: [String] = []
        /// Of the list as it was read now.
        var print: [UInt8]
        /// Whether the newest place stands for it, too.
        var isPlaced = false
    }

    /// Whether a list and its log of departures agree.
    private enum Agreement {
        case whole
        /// The list is not the one that the log names, or was created between the two replies.
        case isAnother
        case isCut
    }

    /// - Parameter isAgain: whether this is the second try after `isAnother`.
    func readList(
        of user: String, knowing token: ListPlaceToken?, isAgain: Bool = false,
        then: @escaping @Sendable (Result<ListReading, RequestError>) -> Void
    ) {
        let place = token?.place.map { String($0) } ?? "-"
        let known = [Array(place.utf8), Hexadecimal.bytes(token?.mark ?? "") ?? []]
        let log = RedisCommand.script(
            .roster, keys: scripts.keys.departures(of: user), arguments: known)
        scripts.servers.send([.all(ofSet: scripts.keys.list(of: user)), log]) { result in
            do throws(RequestError) {
                let replies = try result.get()
                if let code = replies[0].errorCode {
                    _ = try self.scripts.read(.error(code), .listed, "").get()
                }
                let listed = ListedEntries(replies[0])
                let roster = try self.scripts.read(replies[1], .roster, "a list").get()
                self.compare(listed, roster, of: user, knowing: token) { agreement in
                    switch agreement {
                    case .whole:
                        self.mender.isWhole(user)
                        self.open(roster, listed.print, of: user) { log in
                            self.look(at: listed.all, of: user, log, then: then)
                        }
                    case .isAnother where !isAgain:
                        self.readList(of: user, knowing: token, isAgain: true, then: then)
                    case .isAnother, .isCut:
                        self.mender.mend(user)
                        then(.failure(.listIsCut))
                    }
                }
            } catch {
                then(.failure(error))
            }
        }
    }

    /// Checks that the list is the one that the log of departures names, and that it is complete. A
    /// list of an earlier version, or one without its log, gets a tag on the way; if that fails,
    /// the list is answered anyway.
    private func compare(
        _ listed: ListedEntries, _ roster: RedisScripts.Answer, of user: String,
        knowing token: ListPlaceToken?, then: @escaping @Sendable (Agreement) -> Void
    ) {
        let isFresh = roster.word == "fresh"
        let noted = roster[isFresh ? 3 : 6].bytes ?? []
        // The token counts more entries, and no log is left that would show what became of the
        // rest.
        let isMissed =
            isFresh && roster[2].int == 0 && (token?.digest.count ?? 0) > listed.all.count
        guard !listed.isCut, !isMissed else { return then(.isCut) }
        switch listed.tag {
        case let tag? where tag == noted:
            if listed.all.count > listed.count { scripts.servers.send([adopting(user)]) { _ in } }
            then(.whole)
        case let tag? where noted.isEmpty: vouch(for: tag, of: user, then: then)
        case nil where noted.isEmpty:
            scripts.servers.send([adopting(user)]) { result in
                let tag = result.flatMap { self.scripts.read($0[0], .adopt, "a list") }
                guard case .success(let answer) = tag, let tag = answer[1].bytes else {
                    return then(.whole)
                }
                self.vouch(for: tag, of: user, then: then)
            }
        case .some, nil: then(.isAnother)
        }
    }

    private func adopting(_ user: String) -> RedisCommand {
        let tag = Array(Random.hex(8).utf8)
        return .script(.adopt, keys: [scripts.keys.list(of: user)], arguments: [tag])
    }

    private func vouch(
        for tag: [UInt8], of user: String, then: @escaping @Sendable (Agreement) -> Void
    ) {
        scripts.servers.send([scripts.keys.vouching(for: tag, of: user)]) { result in
            guard
                case .success(let answer) = result.flatMap({
                    self.scripts.read($0[0], .vouch, "a list")
                })
            else { return then(.whole) }
            then(answer[1].bytes == tag ? .whole : .isAnother)
        }
    }

    /// Notes the tags of lists that were just created. A list that had another tag was lost, and is
    /// rebuilt.
    /// - Parameter entered: the replies to `entering`, of these users.
    func noteTags(
        _ entered: ArraySlice<RedisReply>, of users: [String],
        then: @escaping @Sendable (Result<Void, RequestError>) -> Void
    ) {
        let begun = zip(users, entered).compactMap { user, reply in
            reply.elements.count > 2 && reply.elements[2].int == 1
                ? (user: user, tag: reply.elements[1].bytes ?? []) : nil
        }
        guard !begun.isEmpty else { return then(.success(())) }
        scripts.servers.send(begun.map { scripts.keys.vouching(for: $0.tag, of: $0.user) }) {
            result in
            do throws(RequestError) {
                for (list, reply) in zip(begun, try result.get()) {
                    let answer = try self.scripts.read(reply, .vouch, "a list").get()
                    if answer[1].bytes != list.tag { self.mender.mend(list.user) }
                }
                then(.success(()))
            } catch {
                then(.failure(error))
            }
        }
    }

    /// The log of departures, as read. A missing one is created; if that fails, the list is read
    /// anyway, and its token is of no use.
    private func open(
        _ roster: RedisScripts.Answer, _ print: [UInt8], of user: String,
        then: @escaping @Sendable (OpenList) -> Void
    ) {
        var log = OpenList(now: roster[1].int ?? 0, print: print)
        guard roster.word == "fresh" else {
            log.isPlaced = roster[7].bytes == print
            if let seq = roster[2].place { log.place = (seq, roster[3].bytes ?? []) }
            log.isKnown = roster[4].int == 1
            log.gone = roster[5].elements.compactMap { Self.departed($0.bytes ?? []) }
            return then(log)
        }
        if roster[2].int ?? 0 > 0 {
            scripts.say(
                UpstreamNotice(
                    .listDamaged,
                    "the log of what left the list of a user was damaged; it begins anew"))
        }
        depart([], from: user, print, readAt: 0) { [log] result in
            var log = log
            if case .success(let answer) = result, let seq = answer[2].place {
                log.place = (seq, answer[3].bytes ?? [])
                log.isPlaced = true
            }
            then(log)
        }
    }

    static func departed(_ member: [UInt8]) -> String? {
        member.firstIndex(of: UInt8(ascii: "\t")).map {
            String(decoding: member[..<$0], as: UTF8.self)
        }
    }
}

extension RedisKeys {
    /// The command that notes a list's tag.
    func vouching(for tag: [UInt8], of user: String) -> RedisCommand {
        .script(.vouch, keys: departures(of: user), arguments: [tag])
    }
}

extension RequestError {
    /// The engine may answer with the list that it knows.
    static let listIsCut = RequestError(
        .listDamaged,
        "list: a part of it is gone at the origin; it is put together again from the conversations")
}
