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
        // Counts the list's entries: some may be stale, and calls in progress are missing. A key's
        // commands are answered in order, so a call that is not counted yet has not ended.
        let ask = RedisCommand.words([
            Array("ZCOUNT".utf8), scripts.keys.list(of: user), Array("-inf".utf8),
            Array("(\(RedisScript.tagMoment)".utf8),
        ])
        scripts.servers.send([ask]) { result in
            let count = result.flatMap { replies in
                self.scripts.read(replies[0], .listed, "of a user").map { _ in replies[0].int ?? 0 }
            }
            // A creation that waits behind it counts too, and may not fail.
            if case .failure = count { self.creations.wake(user) }
            do throws(RequestError) {
                let count = try count.get()
                let limits = self.limits
                let fate = self.creations.begin(
                    user, count: count, limit: limits.conversationsPerUser
                ) {
                    self.create(id, fields, isDistinct: isDistinct, call)
                }
                guard case .begins = fate else {
                    return try limits.check(conversationsOfCreator: count)
                }
                var call = call
                call.ended = { self.creations.end(user) }
                self.createChecked(id, fields, isDistinct: isDistinct, call)
            } catch {
                guard isDistinct, error.code == .tooLarge else {
                    return self.finish(call, .failure(error))
                }
                self.findDistinct(fields, call, otherwise: error)
            }
        }
    }

    /// Creates it; the caller's limit was checked.
    private func createChecked(
        _ id: String?, _ fields: ConversationFields, isDistinct: Bool, _ call: Call
    ) {
        let fields = fields.created(by: call.user)
        do throws(RequestError) {
            let said = try Description(fields).new(within: limits)
            let members = try MembershipChange(of: fields, within: limits)
            let id = id ?? newID()
            guard isDistinct else {
                let decided = RecordDecision(
                    said, members: members, people: nil, createdBy: call.user)
                return write(decided, of: id, call) { result in
                    guard case .failure(.conversationTaken) = result else {
                        return self.finish(call, result)
                    }
                    self.refuseTaken(id, call)
                }
            }
            let users = members.joining.map(\.user)
            let people = Hexadecimal.text(users.distinctKey)
            let wish = Wish(
                id: id, people: people, users: Set(users.map(\.id)),
                decided: RecordDecision(
                    said, members: members, people: people, createdBy: call.user))
            claim(wish, seen: "", call)
        } catch {
            finish(call, .failure(error))
        }
    }

    /// Only participants learn that the id is taken by this conversation; others get the error for
    /// a conversation of others.
    private func refuseTaken(_ id: String, _ call: Call) {
        view(id, for: call, naming: []) { result in
            switch result {
            case .success: self.finish(call, .failure(.conversationTaken))
            case .failure(.noConversation): self.finish(call, .failure(.conversationOfOthers))
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
        let users: Set<ID>
        let decided: RecordDecision
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
        write(wish.decided, of: id, call) { result in
            guard case .failure(.conversationTaken) = result else {
                return self.finish(call, result)
            }
            // Looked up as the server API, which sees every conversation; the participants are
            // compared below.
            let viewer = Call(caller: .server, token: call.token)
            self.view(id, for: viewer, naming: nil) { result in
                switch result {
                case .success(let view)
                where view.people == wish.people && Set(view.users.map(\.id)) == wish.users:
                    self.showAgain(id, call)
                case .success where id.isSameID(wish.id):
                    // The requested id belongs to another conversation.
                    self.release(wish.people, from: id)
                    self.refuseTaken(id, call)
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
        let users = ([user] + (fields.participants ?? [])).unique
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
                    case .success(let view)
                    where view.people == people
                        && Set(view.users.map(\.id)) == Set(users.map(\.id)):
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
