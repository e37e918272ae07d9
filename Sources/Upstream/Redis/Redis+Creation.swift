import Chat
import Ports
import Rules
import Wire

/// Creates conversations, and finds distinct ones.
extension Redis {
    func create(_ id: String?, _ fields: ConversationFields, isDistinct: Bool, _ call: Call) {
        guard let user = call.user else {
            return createChecked(id, fields, isDistinct: isDistinct, call)
        }
        // Some may be gone, and calls in progress are missing. A key's commands are answered in
        // order, so a call that is not counted yet has not ended.
        let ask = RedisCommand.words([Array("ZCARD".utf8), scripts.keys.created(by: user)])
        scripts.servers.send([ask]) { result in
            let count = result.flatMap { replies in
                self.scripts.read(replies[0], .listed, "of a user").map { _ in replies[0].int ?? 0 }
            }
            // A creation that waits behind it counts too, and may not fail.
            if case .failure = count { self.creations.wake(user) }
            do throws(RequestError) {
                let count = try count.get()
                let fate = self.creations.begin(
                    user, count: count, limit: self.limits.conversationsPerUser
                ) {
                    self.create(id, fields, isDistinct: isDistinct, call)
                }
                switch fate {
                case .begins:
                    var call = call
                    call.ended = { self.creations.end(user) }
                    self.createChecked(id, fields, isDistinct: isDistinct, call)
                case .waits: break
                case .isRefused:
                    self.forgetGone(of: user) { hasRoom in
                        do throws(RequestError) {
                            if !hasRoom { try self.limits.check(conversationsOfCreator: count) }
                            self.create(id, fields, isDistinct: isDistinct, call)
                        } catch {
                            guard isDistinct else { return self.finish(call, .failure(error)) }
                            // One that is there is answered.
                            self.findDistinct(fields, call, otherwise: error)
                        }
                    }
                }
            } catch {
                self.finish(call, .failure(error))
            }
        }
    }

    // MARK: who created what

    /// Ends a call that may have created a conversation, which is noted for its creator before: the
    /// note lies in another slot. Without it, as when the gateway dies between the two, the
    /// creator is charged one less.
    private func finishCreation(_ call: Call, _ result: Result<Outcome, RequestError>) {
        guard let user = call.user, case .success(.conversation(let view, isNew: true)) = result
        else { return finish(call, result) }
        let note = RedisCommand.words([
            Array("ZADD".utf8), scripts.keys.created(by: user), [UInt8(ascii: "0")],
            Array(view.record.id.utf8),
        ])
        scripts.servers.send([note]) { replies in
            _ = replies.flatMap { self.scripts.read($0[0], .listed, "of a user") }
            self.finish(call, result)
        }
    }

    /// The conversation is deleted: it is taken off the notes of its creator. If that fails,
    /// `forgetGone` does it.
    func forget(_ id: String, createdBy user: String) {
        let note = [Array("ZREM".utf8), scripts.keys.created(by: user), Array(id.utf8)]
        scripts.servers.send([.words(note)]) { _ in }
    }

    /// Looks at some of the conversations that a user created, those first that were not looked at
    /// for longest, and takes off the notes what is gone.
    /// - Parameter then: is told whether there were such.
    private func forgetGone(of user: String, then: @escaping @Sendable (Bool) -> Void) {
        let key = scripts.keys.created(by: user)
        let first = [Array("ZRANGE".utf8), key, Array("0".utf8), Array("\(Self.looks - 1)".utf8)]
        let last = ["-1", "-1", "WITHSCORES"].map { Array($0.utf8) }
        scripts.servers.send([.words(first), .words([Array("ZRANGE".utf8), key] + last)]) {
            result in
            guard let replies = try? result.get() else { return then(false) }
            let ids = replies[0].elements.compactMap(\.bytes)
            let newest = replies[1].elements.last?.string.flatMap { Int($0) } ?? 0
            guard !ids.isEmpty else { return then(false) }
            let questions = ids.map { id in
                let meta = self.scripts.keys.meta(of: String(decoding: id, as: UTF8.self))
                return RedisCommand.words([Array("HGET".utf8), meta, Array("createdBy".utf8)])
            }
            self.scripts.servers.send(questions) { result in
                guard let replies = try? result.get() else { return then(false) }
                // A key of another type is a damaged log, which is there.
                let fates = zip(ids, replies).map { id, reply in
                    (id: id, isThere: reply.errorCode != nil || reply.string == user)
                }
                let notes = fates.map { id, isThere in
                    let words =
                        isThere
                        ? [Array("ZADD".utf8), key, Array(String(newest + 1).utf8), id]
                        : [Array("ZREM".utf8), key, id]
                    return RedisCommand.words(words)
                }
                self.scripts.servers.send(notes) { result in
                    let isWritten = (try? result.get())?.allSatisfy { $0.errorCode == nil } ?? false
                    then(isWritten && fates.contains { !$0.isThere })
                }
            }
        }
    }

    /// How many conversations a refused call looks at.
    private static let looks = 20

    /// Creates it; the caller's limit was checked.
    private func createChecked(
        _ id: String?, _ fields: ConversationFields, isDistinct: Bool, _ call: Call
    ) {
        do throws(RequestError) {
            let creation = try Creation(fields, by: call.user, within: limits)
            let id = id ?? newID()
            guard isDistinct else {
                return write(RecordWrite(creation, people: nil), of: id, call) { result in
                    guard case .failure(.conversationTaken) = result else {
                        return self.finishCreation(call, result)
                    }
                    self.refuse(creation, asTaken: id, call)
                }
            }
            let people = Hexadecimal.text(creation.users.distinctKey)
            claim(Wish(id: id, people: people, creation: creation), seen: "", call)
        } catch {
            finish(call, .failure(error))
        }
    }

    private func refuse(_ creation: Creation, asTaken id: String, _ call: Call) {
        view(id, for: call, naming: []) { result in
            switch result {
            case .success:
                self.finish(call, .failure(creation.refusalAsTaken(takesPart: true)))
            case .failure(.noConversation):
                self.finish(call, .failure(creation.refusalAsTaken(takesPart: false)))
            case .failure(let error): self.finish(call, .failure(error))
            }
        }
    }

    // MARK: distinct ones

    /// A distinct conversation to create.
    private struct Wish: Sendable {
        let id: String
        /// The key made of the participants.
        let people: String
        let creation: Creation
        var tries = 0
    }

    /// Claims an id for the distinct conversation before it is created: the participants' key lies
    /// in another slot, so one transaction can't write both. If a gateway dies between claim and
    /// creation, the next one creates the conversation under the claimed id.
    private func claim(_ wish: Wish, seen: String, _ call: Call) {
        guard wish.tries < Self.tryLimit else { return finish(call, .failure(.stale)) }
        var wish = wish
        wish.tries += 1
        let present = [Array(seen.utf8), Array(wish.id.utf8)]
        let key = scripts.keys.distinct(wish.people)
        scripts.servers.send([.script(.claim, keys: [key], arguments: present)]) { [wish] result in
            switch result.flatMap({ self.scripts.read($0[0], .claim, wish.id) }) {
            case .failure(let error): self.finish(call, .failure(error))
            case .success(let answer): self.settle(wish, on: answer[1].string ?? wish.id, call)
            }
        }
    }

    /// Creates the distinct conversation under the claimed id, or returns the existing one.
    private func settle(_ wish: Wish, on id: String, _ call: Call) {
        write(RecordWrite(wish.creation, people: wish.people), of: id, call) { result in
            guard case .failure(.conversationTaken) = result else {
                return self.finishCreation(call, result)
            }
            // Looked up as the server API, which sees every conversation; the participants are
            // compared below.
            let viewer = Call(caller: .server, token: call.token)
            self.view(id, for: viewer, naming: nil) { result in
                switch result {
                case .success(let view)
                where view.isDistinct(wish.people, of: wish.creation.users):
                    self.showAgain(id, call)
                case .success where id.isSameID(wish.id):
                    // The requested id belongs to another conversation.
                    self.release(wish.people, from: id)
                    self.refuse(wish.creation, asTaken: id, call)
                case .success, .failure(.noConversation): self.claim(wish, seen: id, call)
                case .failure(let error): self.finish(call, .failure(error))
                }
            }
        }
    }

    func findDistinct(
        _ fields: ConversationFields, _ call: Call, otherwise refusal: RequestError
    ) {
        guard let user = call.user else { return finish(call, .failure(refusal)) }
        let users = fields.people(with: user)
        let people = Hexadecimal.text(users.distinctKey)
        let ask = RedisCommand.words([Array("GET".utf8), scripts.keys.distinct(people)])
        scripts.servers.send([ask]) { result in
            switch result.flatMap({ self.scripts.read($0[0], .claim, "of some people") }) {
            case .failure(let error): self.finish(call, .failure(error))
            case .success:
                guard let id = (try? result.get())?[0].string else {
                    return self.finish(call, .failure(refusal))
                }
                let viewer = Call(caller: .server, token: call.token)
                self.view(id, for: viewer, naming: nil) { result in
                    switch result {
                    case .success(let view) where view.isDistinct(people, of: users):
                        self.showAgain(id, call)
                    case .success, .failure(.noConversation):
                        self.finish(call, .failure(refusal))
                    case .failure(let error): self.finish(call, .failure(error))
                    }
                }
            }
        }
    }

    /// Answers with an existing conversation.
    private func showAgain(_ id: String, _ call: Call) {
        view(id, for: call, naming: []) { result in
            self.finish(call, result.map { .conversation($0.shown, isNew: false) })
        }
    }

    /// Releases the claim of `id` for these participants.
    func release(_ people: String, from id: String) {
        let key = scripts.keys.distinct(people)
        // If it fails, the next claim finds out.
        scripts.servers.send([.script(.claim, keys: [key], arguments: [Array(id.utf8), []])]) { _ in
        }
    }
}

extension StoredConversation {
    /// Whether it was created for these users, and still has just them.
    /// - Parameter people: the key made of them.
    fileprivate func isDistinct(_ people: String, of users: [String]) -> Bool {
        self.people == people && Set(self.users.map(\.id)) == Set(users.map(\.id))
    }
}
