import Chat
import Engine
import JSON
import Wire

/// What people do in the world, until it is calm: each turn a few deeds, drawn from the seed.
extension World {
    func act() {
        writeAsBackend()
        for place in clients.indices {
            guard connections[place] != nil else {
                if random.chance(30) { connect(place) }
                continue
            }
            if random.chance(scenario.stalls) {
                connections[place]?.pace = random.pick([0, 40, 700, .max]) ?? .max
            }
            guard clients[place].isConnected, random.chance(scenario.requests) else { continue }
            // Several requests in one turn: none waits for the answer to the one before it.
            for _ in 0..<random.number(1...3) { ask(place) }
        }
    }

    /// Loses connections, at any moment.
    func lose() throws(Violation) {
        for place in clients.indices where random.chance(scenario.losses) { try disconnect(place) }
    }

    // MARK: - The backend and its other users

    private func writeAsBackend() {
        guard let conversation = random.pick(scenario.conversations) else { return }
        guard let log = origin.log(conversation) else {
            if random.chance(40) { create(conversation) }
            return
        }
        let people = log.record().participants
        switch random.upTo(100) {
        case 0..<35:
            let messages = (0..<(random.chance(20) ? random.number(2...12) : 1)).map { _ in
                NewMessage(
                    author: random.pick(people) ?? "ann", content: MessageContent(body: body()))
            }
            perform(.send(conversation: conversation, messages), by: .server)
        case 35..<50:
            change(log)
        case 50..<54:
            perform(.update(conversation: conversation, .init(title: body())), by: .server)
        case 54..<57:
            let user = NewParticipant(user: random.pick(scenario.users) ?? "ann")
            perform(.addParticipants(conversation: conversation, [user]), by: .server)
        case 57..<59:
            let user = random.pick(people) ?? "ann"
            perform(.removeParticipants(conversation: conversation, [user]), by: .server)
        case 59:
            perform(.deleteConversation(conversation), by: .server)
            // Often the same id comes back before the gateway has heard of its end.
            if random.chance(50) { create(conversation) }
        default:
            break
        }
    }

    private func create(_ conversation: String) {
        let people = scenario.users.filter { _ in random.chance(80) }
        perform(.put(id: conversation, .init(title: body(), participants: people)), by: .server)
    }

    /// An author edits a message or takes it back.
    private func change(_ log: ModelLog) {
        guard log.highest > 0 else { return }
        // The newest are changed most often.
        let message = log.message(max(1, log.highest - random.upTo(random.chance(50) ? 3 : 60)))
        perform(
            random.chance(30)
                ? .delete(conversation: log.conversation, id: message.id)
                : .edit(conversation: log.conversation, id: message.id, .init(body: body())),
            by: .user(message.author))
    }

    func body() -> String {
        String(repeating: "x", count: random.chance(10) ? 600 : random.upTo(40))
    }

    // MARK: - Clients

    private func ask(_ place: Int) {
        let client = clients[place]
        guard let conversation = random.pick(scenario.conversations) else { return }
        switch random.upTo(100) {
        case 0..<28: send(place, subscription(client, conversation))
        case 28..<33: send(place, client.unsubscribe(conversation))
        case 33..<50: send(place, client.fetch(conversation, page(conversation)))
        case 50..<54: send(place, client.findBoundaries(conversation, ofOwn: random.chance(60)))
        case 54..<62: send(place, client.watch())
        case 62..<63: send(place, client.unwatch())
        case 63..<66: send(place, client.fetchConversations())
        case 66..<70: send(place, client.fetchConversation(conversation))
        case 70..<72: send(place, client.call("fetchParticipants", conversation))
        default: send(place, writing(client, conversation))
        }
    }

    /// A subscription with whatever the client likes to say that it holds, as long as it is true;
    /// or, rarely, with the head of a log that never was.
    private func subscription(_ client: Client, _ conversation: String) -> [UInt8] {
        if let holding = client.holdings[conversation] {
            if random.chance(30), let run = random.pick(holding.runs.runs) {
                let low = random.number(run.low...run.high)
                client.holdings[conversation]?.drop(low, random.number(low...run.high))
            }
            if random.chance(20) {
                client.holdings[conversation]?.goBack(to: random.number(0...holding.asOf))
            }
        }
        return client.subscribe(
            conversation, resuming: random.chance(75),
            limit: random.chance(50) ? random.number(1...8) : random.number(9...1000),
            isForged: random.chance(3))
    }

    private func page(_ conversation: String) -> PageRequest {
        var page = PageRequest(
            limit: random.number(1...20), order: random.chance(50) ? .asc : .desc)
        switch random.upTo(5) {
        case 0: break
        case 1: page.before = anchor(conversation)
        case 2: page.after = anchor(conversation)
        case 3: page.around = anchor(conversation)
        default:
            page.before = anchor(conversation)
            page.after = anchor(conversation)
        }
        return page
    }

    private func anchor(_ conversation: String) -> Anchor {
        guard let log = origin.log(conversation), log.highest > 0 else { return .seq(1) }
        switch random.upTo(4) {
        case 0: return .id(log.message(random.number(1...log.highest)).id)
        case 1: return .time(log.message(random.number(1...log.highest)).createdAt)
        default: return .seq(random.number(0...log.highest + 2))
        }
    }

    private func writing(_ client: Client, _ conversation: String) -> [UInt8] {
        let log = origin.log(conversation)
        let message = log.flatMap {
            $0.highest > 0 ? $0.message(random.number(1...$0.highest)) : nil
        }
        let id = message?.id ?? "none"
        let text = body()
        let user = random.pick(scenario.users) ?? "ann"
        switch random.upTo(40) {
        case 0..<14:
            // An id that was used before is sent once more, or is in conflict.
            let own: String? = random.chance(20) ? "own\(random.upTo(10))" : nil
            return client.call("sendMessage", conversation) {
                if let own { $0.member("id", string: own) }
                $0.member("body", string: text)
            }
        case 14..<20:
            return client.call("editMessage", conversation) {
                $0.member("id", string: id)
                $0.member("body", string: text)
            }
        case 20..<24:
            return client.call("deleteMessage", conversation) { $0.member("id", string: id) }
        case 24..<27:
            return client.call("updateConversation", conversation) {
                $0.member("title", string: text)
            }
        case 27..<30:
            return client.call("createConversation", conversation) { [users = scenario.users] in
                $0.member("participants", strings: users)
            }
        case 30: return client.call("leaveConversation", conversation)
        case 31: return client.call("deleteConversation", conversation)
        case 32..<34:
            return client.call("addParticipants", conversation) {
                $0.member("users", strings: [user])
            }
        case 34:
            return client.call("removeParticipants", conversation) {
                $0.member("users", strings: [user])
            }
        case 35..<38:
            let seq = log.map { random.number(0...$0.highest) } ?? 0
            return client.call("markRead", conversation) { $0.member("seq", int: seq) }
        default:
            return client.call("typing", conversation) { $0.member("state", string: "begin") }
        }
    }
}
