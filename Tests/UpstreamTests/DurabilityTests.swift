import Cache
import Chat
import Dispatch
import FoundationEssentials
import Glibc
import Ports
import Synchronization
import Testing
import Upstream
import Wire

/// What is left after the process ends in the middle, and after the file is put back.
@Suite struct DurabilityTests {
    /// A process that writes as fast as it can and notes what was acknowledged is killed, five
    /// times over the same file. Whatever it noted is there, and the log has no hole.
    @Test func whatWasAcknowledgedOutlivesAKill() async throws {
        let directory = try Origin.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for round in 0..<5 {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [directory = directory as String, round = round as Int] in
                try Victim(directory, round).run()
            }
            try check(directory, rounds: round + 1)
        }
    }

    /// A message is acknowledged when its transaction is in the file, not before: at that moment
    /// another connection reads it. Whether the writer's thread commits it or, on one core, the
    /// one that submits it.
    @Test(arguments: [false, true]) func whatIsAcknowledgedIsCommitted(onOneCore: Bool) throws {
        let directory = try Origin.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try Store(Victim.options(directory))
        var pace = WriterPace(isOnOneCore: onOneCore)
        // However busy the machine is.
        pace.prompt = .seconds(60)
        let embedded = try Embedded(store, pace: pace)
        let reader = Mutex(try Reader(store))
        let counts = Mutex((acknowledged: 0, unseen: 0, here: 0))
        let here = UInt(pthread_self())
        let (isAnswered, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let total = 300
        embedded.start { outputs in
            isAnswered.signal()
            for case .performed(let token, .success) in outputs where token > 0 {
                let query = HistoryQuery.message(conversation: "c1", id: "m\(token)")
                let isSeen = reader.withLock { (try? $0.answer(query)) != nil }
                let count = counts.withLock { counts in
                    counts.acknowledged += 1
                    if !isSeen { counts.unseen += 1 }
                    if UInt(pthread_self()) == here { counts.here += 1 }
                    return counts.acknowledged
                }
                if count == total { isDone.signal() }
            }
        }
        let put = Operation.put(id: "c1", ConversationFields(participants: ["a"]))
        embedded.submit([.perform(put, by: .server, token: 0)])
        for token in 1...UInt64(total) {
            let content = MessageContent(id: "m\(token)", body: "x")
            let send = Operation.send(
                conversation: "c1", [NewMessage(author: "a", content: content)])
            // The writer's thread takes what is submitted while it works.
            if onOneCore { isAnswered.wait() }
            embedded.submit([.perform(send, by: .server, token: token)])
        }
        #expect(isDone.wait(timeout: .now() + 30) == .success)
        embedded.stop()
        #expect(counts.withLock { $0.unseen } == 0)
        #expect(counts.withLock { $0.here > 0 } == onOneCore)
    }

    private func check(_ directory: String, rounds: Int) throws {
        let store = try Store(Victim.options(directory, isChecked: true))
        let reader = try Reader(store)
        let noted = try Victim.noted(in: directory)
        #expect(noted.count >= rounds, "each life acknowledged something")
        for id in noted {
            #expect(throws: Never.self, "\(id) was acknowledged") {
                try reader.answer(HistoryQuery.message(conversation: "c1", id: id))
            }
        }
        guard case .loaded(let loaded) = try reader.answer(Query.load(conversation: "c1")) else {
            throw Origin.Lost()
        }
        var seqs: [Int] = []
        repeat {
            let request = PageRequest(after: .seq(seqs.last ?? 0), limit: 1_000, order: .asc)
            guard case .page(let page) = try reader.answer(Query.page(conversation: "c1", request))
            else { throw Origin.Lost() }
            seqs += page.messages.map(\.seq)
        } while seqs.count < loaded.head.seq
        #expect(seqs == Array(1...max(1, loaded.head.seq)))
        #expect(loaded.head.rev == loaded.head.seq + 1)
        #expect(try reader.messageCount() == loaded.head.seq)
    }

    /// A file that was put back and written again is another log from there on, though all its
    /// numbers are the same.
    @Test func aRestoredFileIsFoundToBeAFork() throws {
        let origin = try Origin()
        try origin.conversation(of: ["a"])
        for _ in 0..<3 { try origin.send("before", by: "a") }
        let backedUp = try origin.head()
        try origin.restart { directory in
            try FileManager.default.copyItem(
                atPath: directory + "/gapless.db", toPath: directory + "/backup")
        }
        try origin.send("lost", by: "a")
        let lost = try origin.head()
        guard
            case .conversationsSince(let list) = try origin.reader.answer(
                Query.conversationsSince(user: "a", token: nil, limit: 10))
        else { throw Origin.Lost() }
        try origin.restart { directory in
            try FileManager.default.removeItem(atPath: directory + "/gapless.db")
            try FileManager.default.moveItem(
                atPath: directory + "/backup", toPath: directory + "/gapless.db")
        }
        try origin.send("instead", by: "a")
        let now = try origin.head()
        #expect(now.epoch == lost.epoch && now.seq == lost.seq && now.rev == lost.rev)
        #expect(now.mark != lost.mark)
        func isConfirmed(_ head: Head) throws -> Bool {
            let have = Have(head: head, asOf: head.rev, runs: [[1, 4]])
            let query = Query.catchUp(conversation: "c1", have: have, limit: 10, bytes: .max)
            guard case .catchUp(let read) = try origin.reader.answer(query) else {
                throw Origin.Lost()
            }
            return read.isConfirmed
        }
        #expect(try isConfirmed(backedUp), "up to the backup both are the same log")
        #expect(try !isConfirmed(lost))
        #expect(try isConfirmed(now))
        guard
            case .conversationsSince(let changes) = try origin.reader.answer(
                Query.conversationsSince(user: "a", token: list.token, limit: 10))
        else { throw Origin.Lost() }
        #expect(!changes.complete, "the list is another one too")
    }

    /// The process may not make its files any longer: to SQLite that is a full disk.
    @Test func aFullDiskRefusesWritesUntilThereIsRoom() async throws {
        let directory = try Origin.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        await #expect(processExitsWith: .success) { [directory = directory as String] in
            try Crammed(directory).run()
        }
    }

    @Test func manyWritesShareACommitAndADelivery() throws {
        let origin = try Origin(durability: .full)
        try origin.conversation(of: ["a"])
        let before = origin.embedded.figures.commits
        _ = try origin.performAll(
            (0..<2_000).map {
                .send(
                    conversation: "c1",
                    [NewMessage(author: "a", content: MessageContent(id: "m\($0)", body: "x"))])
            })
        let commits = origin.embedded.figures.commits - before
        #expect(commits < 1_000, "\(commits) commits for 2,000 messages")
        #expect(origin.batches.count <= commits + 2)
        #expect(try origin.head().seq == 2_000)
    }

    @Test func aRefusedWriteDisturbsNobody() throws {
        let origin = try Origin()
        try origin.conversation(of: ["a"])
        let outputs = Mutex(0)
        for number in 0..<300 {
            let id = number % 3 == 0 ? "nowhere" : "c1"
            let message = NewMessage(author: "a", content: MessageContent(body: "x"))
            let send = Operation.send(conversation: id, [message])
            origin.embedded.submit([
                .perform(send, by: .server, token: UInt64(10_000 + number))
            ])
        }
        _ = try origin.ask(.heads([]))
        for case .performed(let token, let result) in origin.batches.joined() where token >= 10_000
        {
            outputs.withLock { $0 += 1 }
            switch result {
            case .success: #expect(token % 3 != 1)
            case .failure(let error): #expect(token % 3 == 1 && error == .noConversation)
            }
        }
        #expect(outputs.withLock { $0 } == 300)
        #expect(try origin.head().seq == 200)
    }
}
