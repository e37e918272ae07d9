import Cache
import Chat
import Ports
import TestSupport
import Testing
import Wire

/// Asks a replica everything that can be asked and expects what its model says.
struct ReplicaComparison {
    /// What the model knows of a conversation in a list.
    private struct Shown: Equatable {
        var record: Record
        var last: EncodedMessage?
        var head: Head
    }

    /// What each user's list was when it was last asked for, and the token that came with it.
    private var lists: [String: (token: String, shown: [ID: Shown])] = [:]

    mutating func compare(_ world: ReplicaWorld) throws {
        for id in ReplicaOrigin.ids {
            if let log = world.model.logs[id.id] {
                try loading(id, log, world)
                try pages(id, log, world)
                try confirming(id, log, world)
                try catchingUp(id, log, world)
            } else {
                world.expect(
                    (try? world.file().reader.answer(.load(conversation: id))) == nil,
                    "what was dropped is not there")
            }
        }
        for user in ReplicaOrigin.users { try list(of: user, world) }
    }

    // MARK: a conversation

    private func loading(_ id: String, _ log: ReplicaModel.Log, _ world: ReplicaWorld) throws {
        let answer = try world.file().reader.answer(.load(conversation: id))
        guard case .loaded(let loaded) = answer, let cached = loaded.cached else {
            return world.expect(false, "the answer is what was asked for")
        }
        world.expect(loaded.record == log.record, "record")
        world.expect(loaded.head == log.head, "head")
        world.expect(loaded.lastMessage == log.last, "last message")
        world.expect(cached.changesFrom == log.changesFrom, "changesFrom")
        var table: [Int: Int] = [:]
        for run in cached.runs {
            for place in run.run.low...run.run.high {
                world.expect(table.updateValue(run.asOf, forKey: place) == nil, "overlap")
            }
        }
        world.expect(table == log.held, "coverage")
    }

    private func page(
        _ id: String, _ request: PageRequest, _ world: ReplicaWorld
    ) throws -> [EncodedMessage] {
        let answer = try world.file().reader.answer(Query.page(conversation: id, request))
        guard case .page(let page) = answer else { return [] }
        return page.messages
    }

    private func pages(_ id: String, _ log: ReplicaModel.Log, _ world: ReplicaWorld) throws {
        let rows = log.rows
        world.expect(
            try page(id, PageRequest(limit: 1000, order: .asc), world) == rows, "all messages")
        let end = (rows.last?.seq ?? 0) + 2
        let low = Int.random(in: 0...end, using: &world.origin.random)
        let high = Int.random(in: low...end, using: &world.origin.random)
        let within = PageRequest(before: .seq(high), after: .seq(low), limit: 1000, order: .asc)
        world.expect(
            try page(id, within, world) == rows.filter { low < $0.seq && $0.seq < high },
            "between \(low) and \(high)")
        let moment = Timestamp(milliseconds: ReplicaOrigin.moment(low).milliseconds - 500)
        world.expect(
            try page(id, PageRequest(after: .time(moment), limit: 1000, order: .asc), world)
                == rows.filter { $0.createdAt >= moment }, "after the moment of \(low)")
        world.expect(
            try page(id, PageRequest(before: .time(moment), limit: 1000, order: .asc), world)
                == rows.filter { $0.createdAt < moment }, "before the moment of \(low)")
        let reader = try world.file().reader
        if case .ids(let ids) = try reader.answer(.ids(conversation: id, places: [low, high])) {
            let there = rows.filter { $0.seq == low || $0.seq == high }
            world.expect(
                ids == Dictionary(uniqueKeysWithValues: there.map { ($0.seq, $0.id) }), "ids")
        }
        if let some = rows.randomElement(using: &world.origin.random),
            case .place(let place) = try reader.answer(.place(conversation: id, id: some.id))
        {
            world.expect(place == some.seq, "place")
        }
    }

    private func confirming(_ id: String, _ log: ReplicaModel.Log, _ world: ReplicaWorld) throws {
        let rev = Int.random(in: 0...log.head.rev + 2, using: &world.origin.random)
        var known = log.messages.values.first { $0.rev == rev }.flatMap { log.marks[$0.seq] }
        if rev == log.record.rev { known = known ?? log.recordMark }
        if rev == 0 { known = "" }
        if rev == log.head.rev { known = log.head.mark }
        for (mark, epoch) in [
            ("m\(rev)", log.head.epoch), ("n", log.head.epoch), ("", log.head.epoch), ("", "x"),
        ] {
            let head = Head(epoch: epoch, seq: 0, rev: rev, mark: mark)
            let answer = try world.file().reader.answer(.confirm(conversation: id, head))
            guard case .confirmation(let said) = answer else { continue }
            let expected = epoch == "x" ? false : known.map { $0 == mark }
            world.expect(said == expected, "confirmation of \(rev)")
        }
    }

    // MARK: resuming

    private func catchingUp(_ id: String, _ log: ReplicaModel.Log, _ world: ReplicaWorld) throws {
        let newest = log.head.seq
        let low = Int.random(in: 0...newest, using: &world.origin.random)
        let high = Int.random(in: low...newest, using: &world.origin.random)
        // A client that was there until the catch-up began is as far as the position.
        let asOf =
            Bool.random(using: &world.origin.random)
            ? log.head.rev : Int.random(in: 0...log.head.rev, using: &world.origin.random)
        var runs = Coverage()
        runs.insert(max(1, low), high)
        let have = Have(head: log.head, asOf: asOf, runs: runs)
        let answer = try world.file().reader.answer(
            .catchUp(conversation: id, have: have, limit: 1000, bytes: .max))
        guard case .catchUp(let read) = answer else { return }
        let held = Set(runs.runs.flatMap { Array($0.low...$0.high) })
        let known = asOf >= log.changesFrom ? held : held.intersection(log.standing)
        // Values above the position too: a catch-up stores them before they are told.
        let changed = log.rows.filter { known.contains($0.seq) && $0.rev > asOf }
        world.expect(read.isConfirmed, "the head is confirmed")
        world.expect(
            read.changed == changed.sorted { $0.rev > $1.rev }, "what changed since \(asOf)")
        world.expect(
            read.outdated == Coverage(places: held.subtracting(known)), "what can't be said")
        var tail: [EncodedMessage] = []
        var place = newest
        while place > (runs.last ?? 0), log.standing.contains(place), let m = log.messages[place] {
            tail.append(m)
            place -= 1
        }
        world.expect(read.tail == tail, "what is new above \(runs.last ?? 0)")
    }

    // MARK: lists

    /// The changes since a token turn the list of then into the list of now.
    private mutating func list(of user: String, _ world: ReplicaWorld) throws {
        let logs = world.model.logs.filter { $0.value.record.participants.contains(user) }
        let now = logs.mapValues { Shown(record: $0.record, last: $0.last, head: $0.head) }
        let reader = try world.file().reader
        let before = lists[user]
        let answer = try reader.answer(
            Query.conversationsSince(user: user, token: before?.token, limit: 100))
        guard case .conversationsSince(let changes) = answer else { return }
        var shown = changes.complete ? before?.shown ?? [:] : [:]
        world.expect(changes.complete == (before != nil), "the token is known")
        for id in changes.removed { shown[id.id] = nil }
        for view in changes.conversations {
            shown[view.record.id.id] = Shown(
                record: view.record, last: view.lastMessage, head: view.head)
        }
        world.expect(shown == now, "the list of \(user), brought up to date")
        world.expect(changes.total == now.count, "total")
        if before == nil || world.origin.chance(3) { lists[user] = (changes.token, now) }
        guard
            case .conversations(let list) = try reader.answer(
                Query.conversations(user: user, limit: 100, cursor: nil))
        else { return }
        let activities = list.conversations.map {
            logs[$0.record.id.id]?.activity ?? .init(milliseconds: -1)
        }
        world.expect(activities.count == now.count, "all of \(user)'s conversations")
        world.expect(activities == activities.sorted(by: >), "latest activity first")
    }
}
