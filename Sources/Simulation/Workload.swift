import Chat
import Engine
import JSON
import Ports
import Wire

/// A backend with random writes, drawn from the seed. The owner of the origin carries them out.
protocol BackendWorkload: AnyObject {
    var run: Run { get }
    var origin: Origin { get }
    var users: [String] { get }
    var conversations: [String] { get }

    /// Writes to the origin.
    @discardableResult
    func perform(_ operation: Operation, by caller: Caller) -> Result<Outcome, RequestError>
}

/// A world with random actions of clients and backend, drawn from the seed.
protocol Workload: BackendWorkload {
    var connections: Connections { get }
}

extension Workload {
    // MARK: - Clients

    /// All clients ask for what they know to be missing.
    /// - Returns: whether any client had to.
    func heal() -> Bool {
        var isHealing = false
        for place in connections.connected where connections.clients[place].isConnected {
            for conversation in conversations {
                guard let request = connections.clients[place].heal(conversation) else { continue }
                connections.send(place, request)
                isHealing = true
            }
        }
        return isHealing
    }

    // MARK: - Clients

    /// A random frame of the client.
    func deed(of client: Client) -> [UInt8]? {
        guard let conversation = run.random.pick(conversations) else { return nil }
        switch run.random.upTo(100) {
        case 0..<28: return subscription(client, conversation)
        case 28..<33: return client.unsubscribe(conversation)
        case 33..<50: return client.fetch(conversation, page(conversation))
        case 50..<54: return client.findBoundaries(conversation, ofOwn: run.random.chance(60))
        case 54..<62: return client.watch()
        case 62..<63: return client.unwatch()
        case 63..<66:
            return client.fetchConversations(
                limit: run.random.chance(40) ? run.random.number(1...2) : nil,
                goesOn: run.random.chance(30))
        case 66..<70: return client.fetchConversation(conversation)
        case 70..<72: return client.fetchParticipants(conversation)
        default: return writing(client, conversation)
        }
    }

    /// A subscription with a `have` of the client's choice, as long as it is true; or, rarely, with
    /// the head of a log that never was.
    private func subscription(_ client: Client, _ conversation: String) -> [UInt8] {
        if let holding = client.holdings[conversation] {
            if run.random.chance(30), let known = run.random.pick(holding.runs.runs) {
                let low = run.random.number(known.low...known.high)
                client.holdings[conversation]?.drop(low, run.random.number(low...known.high))
            }
            if run.random.chance(20) {
                client.holdings[conversation]?.goBack(to: run.random.number(0...holding.asOf))
            }
        }
        return client.subscribe(
            conversation, resuming: run.random.chance(75),
            limit: run.random.chance(50) ? run.random.number(1...8) : run.random.number(9...1000),
            isForged: run.random.chance(3))
    }

    private func page(_ conversation: String) -> PageRequest {
        var page = PageRequest(
            limit: run.random.number(1...20), order: run.random.chance(50) ? .asc : .desc)
        switch run.random.upTo(5) {
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
        switch run.random.upTo(4) {
        case 0: return .id(log.message(run.random.number(1...log.highest)).id)
        case 1: return .time(log.message(run.random.number(1...log.highest)).createdAt)
        default: return .seq(run.random.number(0...log.highest + 2))
        }
    }

    private func writing(_ client: Client, _ conversation: String) -> [UInt8] {
        let log = origin.log(conversation)
        let message = log.flatMap {
            $0.highest > 0 ? $0.message(run.random.number(1...$0.highest)) : nil
        }
        let id = message?.id ?? "none"
        let text = body()
        let user = run.random.pick(users) ?? "ann"
        switch run.random.upTo(40) {
        case 0..<14:
            // An id used before is a repetition, or a conflict.
            let own: String? = run.random.chance(20) ? "own\(run.random.upTo(10))" : nil
            return client.call("sendMessage", conversation) {
                if let own { $0.member("id", string: own) }
                $0.member("body", string: text)
            }
        case 14..<20:
            if let reaction = reaction(text) {
                return client.call("react", conversation) {
                    $0.member("id", string: id)
                    $0.member("key", string: reaction.key)
                    $0.member("on", bool: reaction.isOn)
                }
            }
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
            return client.call("createConversation", conversation) { [users] in
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
            let seq = log.map { run.random.number(0...$0.highest) } ?? 0
            return client.call("markRead", conversation) { $0.member("seq", int: seq) }
        default:
            return client.call("typing", conversation) { $0.member("state", string: "begin") }
        }
    }
}

extension BackendWorkload {
    func writeAsBackend() {
        guard let conversation = run.random.pick(conversations) else { return }
        writeAsBackend(to: conversation)
    }

    func writeAsBackend(to conversation: String) {
        guard let log = origin.log(conversation) else {
            if run.random.chance(40) { create(conversation) }
            return
        }
        let people = log.record().participants
        switch run.random.upTo(100) {
        case 0..<35:
            let messages = (0..<(run.random.chance(20) ? run.random.number(2...12) : 1)).map { _ in
                NewMessage(
                    author: run.random.pick(people) ?? "ann", content: MessageContent(body: body()))
            }
            perform(.send(conversation: conversation, messages), by: .server)
        case 35..<50:
            change(log)
        case 50..<54:
            perform(.update(conversation: conversation, .init(title: body())), by: .server)
        case 54..<57:
            let user = NewParticipant(user: run.random.pick(users) ?? "ann")
            perform(.addParticipants(conversation: conversation, [user]), by: .server)
        case 57..<59:
            let user = run.random.pick(people) ?? "ann"
            perform(.removeParticipants(conversation: conversation, [user]), by: .server)
        case 59:
            perform(.deleteConversation(conversation), by: .server)
            // Often the same id returns before the gateway has learned of its end.
            if run.random.chance(50) { create(conversation) }
        default:
            break
        }
    }

    private func create(_ conversation: String) {
        let people = users.filter { _ in run.random.chance(80) }
        perform(.put(id: conversation, .init(title: body(), participants: people)), by: .server)
    }

    /// An author edits or deletes a message.
    private func change(_ log: ModelLog) {
        guard log.highest > 0 else { return }
        // The newest ones are changed most often.
        let message = log.message(
            max(1, log.highest - run.random.upTo(run.random.chance(50) ? 3 : 60)))
        let isDeleted = run.random.chance(30)
        let text = isDeleted ? "" : body()
        if !isDeleted, var reaction = reaction(text) {
            let people = log.record().participants
            reaction.user = people.isEmpty ? message.author : people[text.utf8.count % people.count]
            perform(
                .react(conversation: log.conversation, id: message.id, reaction), by: .server)
            return
        }
        perform(
            isDeleted
                ? .delete(conversation: log.conversation, id: message.id)
                : .edit(conversation: log.conversation, id: message.id, .init(body: text)),
            by: .user(message.author))
    }

    /// The reaction that takes the place of every other edit in worlds that react. It draws
    /// nothing, so that other worlds are as they were.
    func reaction(_ text: String) -> ReactionCall? {
        let count = text.utf8.count
        guard run.reacts, count.isMultiple(of: 2) else { return nil }
        return ReactionCall(key: ["a", "b", "c"][count / 2 % 3], isOn: !count.isMultiple(of: 8))
    }

    func body() -> String {
        String(repeating: "x", count: run.random.chance(10) ? 600 : run.random.upTo(40))
    }
}
