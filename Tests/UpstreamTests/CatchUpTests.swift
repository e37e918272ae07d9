import Cache
import Chat
import Engine
import Ports
import TestSupport
import Testing
import Upstream
import Wire

/// What a holder lacks, against a log that is kept as a list of its changes.
@Suite struct CatchUpTests {
    /// A conversation written by several processes in turn, and every head that it ever had.
    private struct Subject {
        let origin: Origin
        /// `heads[rev]`; the empty log before the first change has no epoch of its own.
        var heads: [Head] = []
        /// `slots[rev]` is the slot that change `rev` wrote.
        var slots: [Int] = [0, 0]
        var messages: [Int: EncodedMessage] = [:]
        /// What a gateway that has followed the log from some change on would have in memory.
        var tail = RecentChanges()

        init(steps: Int, using random: inout SplitMix64) throws {
            origin = try Origin()
            let first = try origin.conversation(of: ["a"]).head
            heads = [Head(epoch: first.epoch, seq: 0, rev: 0, mark: ""), first]
            for step in 0..<steps {
                if step % 40 == 39 { try origin.restart() }
                let count = messages.count
                let seq = Int.random(in: 1...max(1, count), using: &random)
                let operation: Operation =
                    switch Int.random(in: 0..<6, using: &random) {
                    case 0 where count > 0:
                        .edit(
                            conversation: "c1", id: "m\(seq)", MessageEdit(body: "edit \(step)"))
                    case 1 where count > 0: .delete(conversation: "c1", id: "m\(seq)")
                    case 2:
                        .update(conversation: "c1", ConversationFields(title: "title \(step)"))
                    default:
                        .send(
                            conversation: "c1",
                            [
                                NewMessage(
                                    author: "a",
                                    content: MessageContent(id: "m\(count + 1)", body: "x"))
                            ])
                    }
                let outcome: Outcome
                do {
                    outcome = try origin.perform(operation)
                } catch let error as RequestError where error.code == .conflict {
                    continue  // an edit of a deleted message
                }
                let head = try origin.head()
                guard head.rev > heads.count - 1 else { continue }
                heads.append(head)
                var message: EncodedMessage?
                if case .messages(let changed, _, _) = outcome { message = changed.first }
                slots.append(message?.seq ?? 0)
                if let message { messages[message.seq] = message }
                if step >= 20 {
                    tail.append(message, from: heads[head.rev - 1], to: head, limit: 24_000)
                }
            }
        }

        var head: Head { heads[heads.count - 1] }

        func have(using random: inout SplitMix64) -> Have {
            var seen = heads[Int.random(in: 0..<heads.count, using: &random)]
            var asOf = Int.random(in: 0...seen.rev, using: &random)
            switch Int.random(in: 0..<12, using: &random) {
            case 0: seen.mark = "0123456789abcdef"
            case 1: seen.epoch = "another"
            case 2: seen.rev = head.rev + 1
            case 3: asOf = seen.rev + 1
            case 4: seen.mark = heads[Int.random(in: 0..<heads.count, using: &random)].mark
            default: break
            }
            let runs = (0..<Int.random(in: 0...5, using: &random)).map { _ in
                let low = Int.random(in: 1...head.seq + 3, using: &random)
                return Coverage.Run(low, low + Int.random(in: 0...10, using: &random))
            }
            return Have(head: seen, asOf: asOf, runs: Coverage(runs))
        }

        /// Of one who was there a moment ago and has few holes.
        func recentHave(using random: inout SplitMix64) -> Have {
            var have = have(using: &random)
            let seen = heads[
                Int.random(in: max(0, heads.count - 60)..<heads.count, using: &random)]
            if Int.random(in: 0..<8, using: &random) > 0 { have.head = seen }
            have.asOf = min(
                have.asOf, max(0, seen.rev - Int.random(in: 0...20, using: &random)))
            if Int.random(in: 0..<8, using: &random) > 0 {
                have.asOf = max(0, seen.rev - Int.random(in: 0...5, using: &random))
                have.runs.insert(max(1, seen.seq - 20), seen.seq)
            }
            return have
        }

        func expected(_ have: Have, limit: Int) -> CatchUp {
            let newestFirst = (1...max(1, head.seq)).reversed().compactMap { messages[$0] }
            let isConfirmed =
                have.head.epoch == head.epoch && have.head.rev <= head.rev
                && heads[min(have.head.rev, head.rev)].mark == have.head.mark
                && have.asOf <= have.head.rev
            guard isConfirmed else {
                return CatchUp(
                    isConfirmed: false, tail: Array(newestFirst.prefix(limit)), head: head)
            }
            let changed = messages.values
                .filter { have.runs.contains($0.seq) && $0.rev > have.asOf }
                .sorted { $0.rev > $1.rev }
            let above =
                have.runs.runs.filter { $0.low <= head.seq }
                .map { min($0.high, head.seq) }.max() ?? 0
            let left = max(0, limit - changed.count)
            return CatchUp(
                isConfirmed: true, changed: Array(changed.prefix(limit)),
                outdated: Coverage(places: changed.dropFirst(limit).map(\.seq)),
                tail: Array(newestFirst.filter { $0.seq > above }.prefix(left)), head: head)
        }
    }

    @Test func aCatchUpIsWhatTheChangesSay() throws {
        var answered = 0
        for seed in UInt64(0)..<8 {
            var random = SplitMix64(seed: seed)
            let subject = try Subject(steps: 120, using: &random)
            for round in 0..<500 {
                let have = subject.have(using: &random)
                let limit = Int.random(in: 1...40, using: &random)
                let query = Query.catchUp(
                    conversation: "c1", have: have, limit: limit, bytes: .max)
                guard case .catchUp(var read) = try subject.origin.reader.answer(query) else {
                    throw Origin.Lost()
                }
                for (place, id) in read.ids {
                    #expect(subject.messages[place]?.id == id, "seed \(seed), round \(round)")
                }
                if let remembered = subject.tail.catchUp(
                    have, limit: limit, bytes: .max, at: subject.head)
                {
                    answered += 1
                    #expect(remembered == read, "seed \(seed), round \(round)")
                }
                let ends = Set(read.placesToIdentify(have, bytes: .max))
                #expect(!read.isConfirmed || ends == Set(read.ids.keys), "seed \(seed)")
                if read.isConfirmed {
                    // What was found out on the way to the ids is what the holder is told.
                    let position = StreamPosition(
                        head: read.head, asOf: read.head.rev, now: Timestamp(milliseconds: 1))
                    _ = read.placesToIdentify(have, bytes: 5000)
                    #expect(
                        read.resume(have, position: position, bytes: 5000)
                            == Resume(have: have, read: read, position: position, bytes: 5000),
                        "seed \(seed), round \(round)")
                }
                read.identify([:])
                guard read != subject.expected(have, limit: limit) else { continue }
                Issue.record("seed \(seed), round \(round): \(have), limit \(limit)")
                return
            }
        }
        #expect(answered > 100, "\(answered) answers from memory show too little")
    }

    /// What is in memory answers as the file does, with few bytes to spare too, or not at all.
    @Test func whatIsInMemoryAnswersAsTheFileDoes() throws {
        var (answered, asked) = (0, 0)
        for seed in UInt64(200)..<206 {
            var random = SplitMix64(seed: seed)
            var subject = try Subject(steps: 150, using: &random)
            for round in 0..<400 {
                let have = subject.recentHave(using: &random)
                let limit = Int.random(in: 1...60, using: &random)
                let bytes = Int.random(in: 0...8000, using: &random)
                let query = Query.catchUp(
                    conversation: "c1", have: have, limit: limit, bytes: bytes)
                guard case .catchUp(let read) = try subject.origin.reader.answer(query) else {
                    throw Origin.Lost()
                }
                asked += 1
                let remembered = subject.tail.catchUp(
                    have, limit: limit, bytes: bytes, at: subject.head)
                if let remembered {
                    answered += 1
                    #expect(remembered == read, "seed \(seed), round \(round)")
                }
                // A log that stands elsewhere is not this one.
                var elsewhere = subject.head
                elsewhere.mark = "another"
                #expect(
                    subject.tail.catchUp(have, limit: limit, bytes: bytes, at: elsewhere) == nil)
                subject.tail.learn(read.ids)
            }
        }
        #expect(answered > asked / 4, "\(answered) of \(asked) were answered from memory")
    }

    /// Near places are walked to and far ones sought; both must find the same, and no other.
    @Test func idsAreThoseOfThePlacesAskedFor() throws {
        var random = SplitMix64(seed: 300)
        let subject = try Subject(steps: 150, using: &random)
        for round in 0..<300 {
            let places = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                Int.random(in: 0...subject.head.seq + 8, using: &random)
            }
            let query = Query.ids(conversation: "c1", places: places)
            guard case .ids(let ids) = try subject.origin.reader.answer(query) else {
                throw Origin.Lost()
            }
            let expected = subject.messages.filter { places.contains($0.key) }
            #expect(ids == expected.mapValues(\.id), "round \(round)")
        }
    }

    @Test func changesInOrderAreTheWholeLog() throws {
        for seed in UInt64(100)..<106 {
            var random = SplitMix64(seed: seed)
            let subject = try Subject(steps: 100, using: &random)
            for _ in 0..<60 {
                let start = Int.random(in: 0...subject.head.rev, using: &random)
                try follow(subject, from: start, using: &random, seed: seed)
            }
        }
    }

    /// Follows the log in pieces; each must hold the slots of its revs, and all of them the log.
    private func follow(
        _ subject: Subject, from start: Int, using random: inout SplitMix64, seed: UInt64
    ) throws {
        var since = start
        var seen: [(slot: Int, rev: Int)] = []
        while true {
            let limit = Int.random(in: 1...9, using: &random)
            let query = HistoryQuery.changes(
                conversation: "c1", since: since, mark: subject.heads[since].mark, limit: limit)
            guard case .changes(let changes) = try subject.origin.reader.answer(query) else {
                throw Origin.Lost()
            }
            var slots = changes.messages.map { (slot: $0.seq, rev: $0.rev) }
            if let record = changes.record { slots.append((0, record.rev)) }
            slots.sort { $0.rev < $1.rev }
            #expect(slots.count <= limit && changes.head == subject.head, "seed \(seed)")
            #expect(slots.allSatisfy { since < $0.rev && $0.rev <= changes.upTo }, "seed \(seed)")
            #expect(changes.upTo > since || !changes.more, "seed \(seed)")
            seen += slots
            since = changes.upTo
            if !changes.more { break }
        }
        #expect(since == subject.head.rev, "seed \(seed)")
        var newest: [Int: Int] = [:]
        for rev in 1...subject.head.rev { newest[subject.slots[rev]] = rev }
        let expected = newest.filter { $0.value > start }.sorted { $0.value < $1.value }
        #expect(seen.map(\.slot) == expected.map(\.key), "seed \(seed), from \(start)")
        #expect(seen.map(\.rev) == expected.map(\.value), "seed \(seed), from \(start)")
    }

    @Test func changesSinceWhatTheLogNeverHadAreAConflict() throws {
        let origin = try Origin()
        let head = try origin.conversation(of: ["a"]).head
        func changes(_ since: Int, _ mark: String?) -> ErrorCode? {
            refusal {
                _ = try origin.ask(
                    .changes(conversation: "c1", since: since, mark: mark, limit: 10))
            }
        }
        #expect(changes(0, nil) == nil)
        #expect(changes(0, "") == nil)
        #expect(changes(1, head.mark) == nil)
        #expect(changes(0, "x") == .conflict)
        #expect(changes(1, "x") == .conflict)
        #expect(changes(1, "") == .conflict)
        #expect(changes(2, nil) == .conflict)
        #expect(changes(2, head.mark) == .conflict)
    }

    @Test func aHolderFarBehindIsToldThatAllIsOutdated() throws {
        let origin = try Origin()
        let first = try origin.conversation(of: ["a"]).head
        for number in 1...3 { try origin.send("x", id: "m\(number)", by: "a") }
        func edit(_ number: Int) -> Operation {
            .edit(conversation: "c1", id: "m2", MessageEdit(body: "edit \(number)"))
        }
        // One more than the store looks at.
        _ = try origin.performAll((0..<10_000).map(edit))
        try origin.perform(edit(10_000))
        let have = Have(head: first, asOf: 1, runs: Coverage(1, 3))
        func catchUp(_ have: Have) throws -> CatchUp {
            let query = Query.catchUp(conversation: "c1", have: have, limit: 1, bytes: .max)
            guard case .catchUp(let read) = try origin.reader.answer(query) else {
                throw Origin.Lost()
            }
            return read
        }
        // One message has one newest change, however often it changed: three slots in all.
        let read = try catchUp(have)
        #expect(read.changed.map(\.seq) == [2])
        #expect(read.outdated == [[1, 1], [3, 3]])
        let messages = (0..<1_000).map {
            NewMessage(author: "a", content: MessageContent(body: "\($0)"))
        }
        _ = try origin.performAll(
            Array(repeating: .send(conversation: "c1", messages), count: 11))
        let far = try catchUp(have)
        #expect(far.changed.isEmpty && far.outdated == [[1, 3]])
        #expect(far.tail.map(\.seq) == [far.head.seq])
    }
}
