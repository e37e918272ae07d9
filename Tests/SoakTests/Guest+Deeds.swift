import TestSupport

// What a guest does of its own.
extension Guest {
    /// Does something, if it is time.
    ///
    /// - Throws: what the client throws.
    func move(_ mood: Mood) throws {
        let isCalm = mood != .lively
        if isCalm { restsUntil = min(restsUntil, .now) }
        switch state {
        case .away(let until):
            if isCalm || until < .now { comeBack() }
        case .arriving, .here:
            guard !isResting else { return }
            guard !client.connection.hasEnded else { return wasLeft() }
            guard isHere, nextLook < .now else { return }
            nextLook = .now + .milliseconds(Int.random(in: 150...450, using: &random))
            do {
                try stay()
                if mood != .still, random.happens(30) { try wander(isCalm) }
            } catch is TestFailure {
                // The socket was closed since it was read last.
                try client.pump()
                wasLeft()
            }
        }
    }

    /// What keeps it there: a token that is good, its subscriptions, an answer to what it wrote.
    private func stay() throws {
        if refreshes, expiry < .now + .seconds(3) {
            try ask("refresh", ["token": .string(nextToken())], .refresh)
        }
        for conversation in conversations where !client.holder(conversation).isSubscribed {
            try subscribe(conversation)
        }
        let isAsked = asked.values.contains { if case .write = $0 { true } else { false } }
        if !isAsked, let writing, writing.nextTry < .now {
            try ask(writing.method, writing.params, .write)
        }
    }

    private func subscribe(_ conversation: String) throws {
        let isAsked = asked.values.contains {
            if case .subscribe(conversation) = $0 { true } else { false }
        }
        guard !isAsked else { return }
        let limit = Int.random(in: 20...200, using: &random)
        let params = client.subscription(conversation, limit: limit)
        if !params["have"].isNull { figures.resumes += 1 }
        try ask("subscribeMessages", params, .subscribe(conversation))
    }

    private func wander(_ isCalm: Bool) throws {
        guard asked.count < 4, let id = conversations.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<40: write()
        case 40..<65:
            let params = client.randomPage(of: id, using: &random)
            try ask("fetchMessages", params, .other)
        case 65..<72: try ask("typing", ["conversation": .string(id), "state": "begin"], .other)
        case 72..<80:
            let seq = JSONValue.int(client.holder(id).head["seq"].int ?? 0)
            try ask("markRead", ["conversation": .string(id), "seq": seq], .other)
        case 80..<86: try subscribe(id)
        case _ where isCalm: break
        case 86..<90:
            try ask("unsubscribeMessages", ["conversation": .string(id)], .leave(id))
        case 90..<93: cut(.milliseconds(Int.random(in: 50...9000, using: &random)))
        default:
            if isSlow { restsUntil = .now + .seconds(Int.random(in: 2...6, using: &random)) }
        }
    }

    /// Says something, or changes something that it said; what is not answered yet goes first.
    private func write() {
        guard writing == nil else { return }
        let dice = Int.random(in: 0..<100, using: &random)
        // What is older the origin may have trimmed, after two bursts, before it can be changed.
        living.removeAll { $0.at + .seconds(40) < .now }
        if dice < 30, !living.isEmpty {
            let (conversation, id, seq, _) = living.removeLast()
            var params: JSONValue = ["conversation": .string(conversation), "id": .string(id)]
            if dice < 20 { params["body"] = .string("\(user) edits \(id)") }
            let method = dice < 20 ? "editMessage" : "deleteMessage"
            writing = Writing(
                conversation: conversation, method: method, params: params, seq: seq)
        } else if let conversation = conversations.randomElement(using: &random) {
            count += 1
            let params: JSONValue = [
                "conversation": .string(conversation), "id": .string("\(user)-\(count)"),
                "body": .string(house.bodies.randomElement(using: &random) ?? ""),
            ]
            writing = Writing(conversation: conversation, method: "sendMessage", params: params)
        }
    }

    /// Takes a token that is good for two seconds, and lets it run out.
    ///
    /// - Throws: what the client throws.
    func letTokenRunOut() throws {
        guard isHere, !isResting, !client.connection.hasEnded else { return }
        refreshes = false
        try ask("refresh", ["token": .string(house.keys.token(user, seconds: 2))], .other)
    }

    private func ask(_ method: String, _ params: JSONValue, _ question: Question) throws {
        asked[try client.send(method, params)] = question
    }
}
