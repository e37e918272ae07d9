import TestSupport

// When a soak asks what became of messages.
extension Stage {
    /// Asks about a message that was just written, or is being written.
    func spot(at now: ContinuousClock.Instant) {
        guard nextSpot < now else { return }
        nextSpot = now + .milliseconds(300)
        let asking = guests.filter { guest in
            guest.asked.values.contains { if case .write = $0 { true } else { false } }
        }
        if random.happens(50), let guest = asking.randomElement(using: &random),
            let writing = guest.writing, writing.method == "sendMessage"
        {
            let at = gateways.firstIndex { $0.port == guest.client.port } ?? 0
            let id = writing.params["id"].string
            return inquest.ask(.init(conversation: writing.conversation, id: id, gateway: at))
        }
        let place = random.happens(50) ? 0 : 1
        // What somebody may send before the answer comes: the origin may not answer either.
        if random.happens(20), let guest = guests.randomElement(using: &random),
            let id = guest.conversations.randomElement(using: &random)
        {
            let at = gateways.firstIndex { $0.port == guest.client.port } ?? place
            return inquest.ask(
                .init(conversation: id, id: "\(guest.user)-\(guest.count + 1)", gateway: at))
        }
        let busy = random.happens(50) ? burstsIn : nil
        guard let id = busy ?? conversations.randomElement(using: &random),
            let newest = ledger.all(id).last
        else { return }
        inquest.ask(.init(conversation: id, seq: newest.seq, gateway: place))
    }

    /// Asks about every message that came since the last time, while nothing happens.
    ///
    /// - Throws: what a client or the server API throws.
    func inquire() throws {
        if let id = conversations.randomElement(using: &random),
            let guest = guests.first(where: { $0.conversations.contains(id) })
        {
            let head = guest.client.holder(id).head
            let (floor, newest) = try (head.required("floor"), head.required("seq"))
            inquests += 1
            try inquest.probe(inquests, self, id, floor...newest)
        }
        for id in conversations {
            let newest = ledger.all(id).map(\.seq).max() ?? 0
            inquest.askAll(of: id, upTo: newest, users: people)
        }
        if try live(.seconds(120), until: { inquest.isIdle }) { return }
        inquest.hurry()
    }
}
