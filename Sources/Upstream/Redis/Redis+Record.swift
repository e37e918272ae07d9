import Chat
import Crypto
import JSON
import Ports
import Rules
import Wire

/// Reads slot 0, and writes decided changes of it.
extension Redis {
    func view(
        _ id: String, with reader: String?, naming named: [String]?, mends: Bool,
        then: @escaping @Sendable (Result<StoredConversation, RequestError>) -> Void
    ) {
        scripts.view(id, with: reader, naming: named, mends: mends, then: then)
    }

    /// Writes a decided change; fails with `stale` if the view it was decided on no longer holds.
    /// Joining users get the entry in their lists first: readers find a superfluous entry, but not
    /// a missing one.
    func write(
        _ decided: RecordWrite, of id: String, _ call: Call,
        then: @escaping @Sendable (Result<Outcome, RequestError>) -> Void
    ) {
        let entries = decided.leaving.map { lists.entry(of: $0, id) }
        scripts.servers.send(entries + decided.joining.map { lists.entering($0, id) }) { result in
            do throws(RequestError) {
                let replies = try result.get()
                for case let code? in replies.lazy.map(\.errorCode) {
                    return then(self.scripts.read(.error(code), .record, id).map { _ in .done })
                }
                let left = Array(replies.prefix(entries.count))
                self.lists.noteTags(replies.dropFirst(entries.count), of: decided.joining) {
                    result in
                    if case .failure(let error) = result { return then(.failure(error)) }
                    self.record(decided, of: id, left, call, then: then)
                }
            } catch {
                then(.failure(error))
            }
        }
    }

    /// - Parameter left: the list entries of users who leave, from before.
    private func record(
        _ decided: RecordWrite, of id: String, _ left: [RedisReply], _ call: Call,
        then: @escaping @Sendable (Result<Outcome, RequestError>) -> Void
    ) {
        scripts.run(.record, of: id, decided.arguments(viewer: call.user)) { result in
            then(
                result.flatMap { answer in
                    switch answer.word {
                    case "taken": return .failure(.conversationTaken)
                    case "stale": return .failure(.stale)
                    default: break
                    }
                    self.lists.tell(decided.joining, id, isIn: true)
                    self.lists.takeOff(id, decided.leaving, left)
                    if decided.isCreation {
                        // A user who had left an earlier conversation of this id may be about to be
                        // removed by the entry of that time.
                        let again = decided.joining.map { self.lists.entering($0, id) }
                        self.scripts.servers.send(again) { _ in }
                    }
                    self.lists.tell(decided.leaving, id, isIn: false)
                    guard let view = StoredConversation(answer.parts, of: id) else {
                        return .failure(.unreadable)
                    }
                    return .success(.conversation(view.shown, isNew: decided.isNew))
                })
        }
    }

    // MARK: deleting

    func remove(
        _ id: String, _ view: StoredConversation, _ call: Call,
        stale: @escaping @Sendable () -> Void
    ) {
        scripts.servers.send(view.users.map { lists.entry(of: $0, id) }) { result in
            switch result {
            case .failure(let error): self.finish(call, .failure(error))
            case .success(let entries): self.remove(id, view, entries, call, stale: stale)
            }
        }
    }

    /// - Parameter entries: the participants' list entries.
    private func remove(
        _ id: String, _ view: StoredConversation, _ entries: [RedisReply], _ call: Call,
        stale: @escaping @Sendable () -> Void
    ) {
        let texts = [view.head.epoch, String(view.recordRev)].map { Array($0.utf8) }
        scripts.run(.remove, of: id, texts + [RedisEvent.pack(view.users)]) { result in
            switch result {
            case .failure(let error): self.finish(call, .failure(error))
            case .success(let answer) where answer.word == "stale": stale()
            case .success(let answer):
                self.lists.takeOff(id, view.users, entries)
                self.lists.tell(view.users, id, isIn: false)
                if let people = answer[1].string { self.release(people, from: id) }
                if let user = view.createdBy { self.forget(id, createdBy: user) }
                self.finish(call, .success(.removed(people: view.users.count)))
            }
        }
    }
}

extension RequestError {
    /// The server answers, but refuses writes.
    static let writesRefused = RequestError(
        .originRefusesWrites, "the origin takes no writes now")
    /// A key of another type is in the place of a user's list, or of a distinct conversation's
    /// claim.
    static let damagedKey = RequestError(
        .listDamaged, "list: what the origin has of it is damaged (another type)")
    /// The record changed while the change was decided.
    static let stale = RequestError(
        .conversationContended, "the conversation changes too fast")
}

extension RecordWrite {
    /// The arguments of the script `record`, after those of every publishing script.
    func arguments(viewer: String?) -> [[UInt8]] {
        let stored = [UInt8](object: unknown)
        // An empty title is a title too.
        let titled = title.map { Array("=\($0)".utf8) } ?? []
        let saying = [titled, metadata.bytes, stored]
        let described =
            isWhole
            ? RedisEvent.describe(saying, users: users, admins: admins, removed: leaving)
            : RedisEvent.describe(
                saying, count: people, admins: admins, removed: leaving, joined: joining)
        let ruling = Set(admins.map(\.id))
        var arguments = [epoch, recordRev, Random.hex(8)].map { Array($0.utf8) }
        arguments += [Random.bytes(8), Array((viewer ?? "").utf8), titled, metadata.bytes, stored]
        arguments += [Array(String(admins.count).utf8), Array(distinct.utf8), Array(creator.utf8)]
        arguments.append(described)
        arguments.append(Array((mends ? "1" : "0").utf8))
        arguments.append(Array((isWhole ? RedisEvent.record : RedisEvent.change).utf8))
        arguments.append(RedisEvent.pack(admins))
        arguments.append(Array(String(written.count).utf8))
        for member in written {
            let isAdmin = ruling.contains(member.user.id)
            arguments += [
                Array(member.user.utf8), Array((isAdmin ? "1" : "0").utf8),
                Array(member.joined.utf8), member.fields,
            ]
        }
        return arguments + leaving.map { Array($0.utf8) }
    }
}

extension [UInt8] {
    /// The text of an object with these members.
    fileprivate init(object members: [JSONMember]) {
        var json = JSONWriter()
        json.beginObject()
        for member in members { json.member(member) }
        json.endObject()
        self = json.bytes
    }
}
