import Chat
import Ports
import Rules
import TestSupport
import Testing
import Wire

@testable import Upstream

/// What one asks for holds up nobody else, and breaks no link: on a way that carries 640 KB/s, with
/// a deadline of a second, all below takes several seconds.
@Suite(.serialized) struct BoundedJobTests {
    private let server: RedisProcess
    private let proxy: TCPProxy
    private let notices = Collected()
    private let subject: Subject

    init() throws {
        server = try RedisProcess()
        proxy = try TCPProxy(to: server.port)
        subject = try Self.subject(of: server, at: proxy.port, .seconds(1), notices)
    }

    private static func subject(
        of server: RedisProcess, at port: Int, _ deadline: Duration, _ notices: Collected
    ) throws -> Subject {
        let options = try server.options {
            $0.address.port = port
            $0.deadline = deadline
        }
        var limits = LogLimits()
        limits.message = 2 << 20
        let subject = Subject(Redis(options, limits: limits) { notices.add($0.text) })
        try subject.waitUntilOnline()
        return subject
    }

    private func subject(deadline: Duration) throws -> Subject {
        try Self.subject(of: server, at: proxy.port, deadline, notices)
    }

    /// The user's list names conversations that are not there.
    private func list(of user: String, _ count: Int, madeAt: Int) throws {
        let fill = """
            for n = 1, tonumber(ARGV[2]) do
              redis.call('ZADD', KEYS[1], ARGV[1], 'none-' .. n)
            end
            """
        try server.ask("EVAL", fill, "1", "gapless:user:\(user)", "\(madeAt)", "\(count)")
    }

    /// Long jobs wait in a row of their own, in which one user leaves room for others as well.
    @Test func longJobsOfOneUserLeaveRoomForOthers() {
        let many = (0...LinkPace.most).map { _ in RedisCommand.words("PING") }
        var queue = CommandQueue()
        func add(_ user: String) -> Bool {
            Payer.$current.withValue(Payer(user: user.id)) {
                queue.add(CommandJob(many, until: .now) { _ in })
            }
        }
        let taken = (0..<CommandQueue.jobLimit).prefix { _ in add("greedy") }.count
        // They are long enough that half of the bytes is less than half of the jobs.
        let size = CommandJob(many, until: .now) { _ in }.size
        #expect(taken == (CommandQueue.byteLimit / 2 + size - 1) / size)
        #expect(add("another"))
    }

    /// The bytes of a user's calls leave room too, as those of 300 lists that are read at a time.
    @Test func largeJobsOfOneUserLeaveRoomForOthers() {
        let large = RedisCommand.words([[UInt8](repeating: 1, count: 1 << 20)])
        var queue = CommandQueue()
        func add(_ user: String) -> Bool {
            let call = UpstreamCall.ask(
                .conversations(user: user, limit: 100, cursor: nil), token: 1)
            return Payer.$current.withValue(call.payer) {
                queue.add(CommandJob([large], until: .now) { _ in })
            }
        }
        #expect((1...300).prefix { _ in add("greedy") }.count == 32)
        #expect(add("another") && !add("greedy"))
    }

    /// A command whose reply has no bound is no short job, however small it is: only few are in
    /// flight, and short jobs pass the others.
    @Test func aWholeListWaitsAmongTheLongJobs() {
        var queue = CommandQueue()
        let commands = [RedisCommand.all(ofSet: Array("list".utf8)), .words("PING")]
        let list = Payer.$current.withValue(Payer(user: "alice".id)) {
            CommandJob(commands, until: .now) { _ in }
        }
        #expect(list.isLong && list.cost == 50)
        let isAdded = queue.add(list)
        var inFlight = JobsInFlight()
        for _ in 0..<CommandQueue.longPieces { inFlight.append(sent(list)) }
        let passed = queue.next(beside: inFlight)
        #expect(isAdded && passed == nil)
        _ = queue.add(CommandJob([.words("PING")], until: .now) { _ in })
        let short = queue.next(beside: inFlight)
        let long = queue.next(beside: JobsInFlight())
        #expect(short?.isLong == false && long?.isLong == true)
    }

    /// A small command waits for at most a few large ones, whatever waits beside it: where the way
    /// is short, little is in flight, and short jobs have as much as pieces of long ones.
    @Test(arguments: [1, 200])
    func smallCommandsWaitForFewLargeOnes(bystanders: Int) {
        let large = RedisCommand.words([Array("SET".utf8), Array("large".utf8), large(30 << 10)])
        var waiting = WaitingJobs()
        func add(_ commands: [RedisCommand], for user: String) {
            Payer.$current.withValue(Payer(user: user.id)) {
                _ = waiting.add(CommandJob(commands, until: .now) { _ in })
            }
        }
        for user in 0..<4 {
            for _ in 0..<12 { add([large], for: "greedy-\(user)") }
            add(Array(repeating: large, count: 100), for: "importer-\(user)")
        }
        for user in 0..<bystanders { add([.words("PING")], for: "bystander-\(user)") }
        var inFlight = JobsInFlight()
        var (bytes, found, pieces) = (0, 0, 0)
        while found < bystanders, let job = waiting.next(beside: inFlight) {
            if !job.isLong, job.size < 100 { found += 1 }
            if job.isLong { pieces += 1 }
            inFlight.append(sent(job, behind: inFlight))
            #expect(inFlight.bytes < LinkPace.leastWindow + CommandJob.pieceSize)
            // As on a link: the oldest is answered when nothing more may be sent.
            while inFlight.bytes >= inFlight.pace.window, var done = inFlight.popFirst() {
                bytes += done.pieceBytes
                done.replies = Array(repeating: .none, count: done.sent)
                if done.isLong, !done.isDone { waiting.jobs.putBack(done) }
            }
        }
        #expect(found == bystanders && pieces > 0)
        // A turn of each of the four who are before them, and pieces of long jobs beside that.
        #expect(bytes <= 4 * (31 << 10) + 5 * CommandJob.pieceSize)
    }

    private func large(_ count: Int) -> [UInt8] { [UInt8](repeating: 120, count: count) }

    private func sent(
        _ job: CommandJob, behind inFlight: JobsInFlight = JobsInFlight()
    ) -> CommandJob {
        var job = job
        _ = job.advance(behind: inFlight, at: .now)
        return job
    }

    /// Beside many short jobs, long ones get a fifth of what is in flight.
    @Test func longJobsAreNotStarvedByShortOnes() {
        var queue = CommandQueue()
        let list = (0..<100).map { _ in RedisCommand.words("PING") }
        for number in 0..<100 {
            Payer.$current.withValue(Payer(user: "user-\(number)".id)) {
                _ = queue.add(CommandJob(list, until: .now) { _ in })
                for _ in 0..<10 {
                    _ = queue.add(CommandJob([.words("PING")], until: .now) { _ in })
                }
            }
        }
        var inFlight = JobsInFlight()
        while let job = queue.next(beside: inFlight) { inFlight.append(sent(job)) }
        #expect(inFlight.shortCommands == CommandQueue.shortCommands)
        let share = inFlight.shortCommands / 4
        #expect((share..<share + LinkPace.least).contains(inFlight.longCommands))
    }

    /// Work after a late answer counts for the user who asked.
    @Test func whoIsGivenUpOnStillPays() throws {
        let one = Payer(user: "alice".id)
        let options = try server.options {
            $0.address.port = proxy.port
            $0.deadline = .seconds(1)
        }
        let redis = Redis(options)
        let other = Subject(redis)
        try other.waitUntilOnline()
        try server.ask("SET", "long", String(repeating: "x", count: 2 << 20))
        let paying = Collected()
        // Its answer takes three seconds, and is on its way all the time.
        proxy.set(.slow)
        let slow = RedisCommand.words("GET", "long")
        Payer.$current.withValue(one) {
            redis.scripts.servers.send([slow]) { _ in
                paying.add(Payer.current == one ? "own" : "another's")
            }
        }
        let isAnswered = Deadline.standard.poll { !paying.all.isEmpty }
        #expect(isAnswered && paying.all == ["own"])
    }

    private func expectNoBreak() {
        #expect(!notices.all.contains { $0.contains("no reply in time") }, "\(notices.all)")
    }

    @Test func aQuestionOfFourThousandCommandsIsAnsweredHoweverLongItTakes() throws {
        try subject.conversation()
        try list(of: "carol", 4000, madeAt: Int(Embedded.systemTime().milliseconds))
        proxy.set(.slow)
        let token = subject.outputs.token()
        let began = ContinuousClock.now
        let query = HistoryQuery.conversations(user: "carol", limit: 20, cursor: nil)
        subject.upstream.submit([.ask(query, token: token)])
        for number in 1...5 { try subject.send("between \(number)") }
        // Others were served meanwhile.
        let isAnswered = subject.outputs.all.contains { output in
            if case .answered(token, _, _) = output { true } else { false }
        }
        #expect(!isAnswered)
        // A quarter of a minute where nothing else runs.
        let answer = try subject.outputs.wait(for: token, .after(.seconds(90)))
        guard case .answered(_, _, let result) = answer else {
            throw TestFailure("another kind of answer")
        }
        guard case .success(.conversations(let list)) = result else {
            throw TestFailure("refused: \(result)")
        }
        #expect(list.total == 0)
        // It took longer than any one piece may.
        #expect(ContinuousClock.now - began > .seconds(2), "\(ContinuousClock.now - began)")
        expectNoBreak()
    }

    @Test func aConversationOfAThousandPeopleIsMadeInPieces() throws {
        let before = try calls("zadd")
        try subject.conversation("crowd", of: (1...1000).map { "user-\($0)" })
        #expect(try calls("zadd") - before >= 1000)
        let isTold = Deadline.standard.poll { (try? calls("publish") >= 1000) == true }
        #expect(isTold)
        expectNoBreak()
    }

    @Test func whatIsLateFailsAloneWhileOthersAreAnswered() throws {
        try subject.conversation()
        proxy.set(.slow)
        // Some 4 MB: the first are answered in time, those far behind are refused or late.
        let body = String(repeating: "x", count: 60_000)
        let tokens = (1...70).map { number in
            let token = subject.outputs.token()
            let message = NewMessage(
                author: "alice", content: MessageContent(id: "m\(number)", body: body))
            let send = Operation.send(conversation: "c1", [message])
            subject.upstream.submit([.perform(send, by: .server, token: token)])
            return token
        }
        var done = 0
        for token in tokens {
            guard case .performed(_, let result) = try subject.outputs.wait(for: token) else {
                throw TestFailure("another kind of answer")
            }
            switch result {
            case .success: done += 1
            case .failure(let error): #expect(error.code == .originUnavailable)
            }
        }
        #expect(done > 0 && done < tokens.count, "\(done) of \(tokens.count) were done")
        proxy.set(.open)
        try subject.send("behind all")
        expectNoBreak()
    }

    @Test func beyondSixtyFourMegabytesWhoComesIsRefused() throws {
        // All eighty are there long before the deadline of the first, which would make room.
        let subject = try subject(deadline: .seconds(6))
        try subject.conversation()
        proxy.set(.stalled)
        let body = String(repeating: "x", count: 1 << 20)
        let tokens = (1...80).map { _ in
            let token = subject.outputs.token()
            let message = NewMessage(author: "alice", content: MessageContent(body: body))
            let send = Operation.send(conversation: "c1", [message])
            subject.upstream.submit([.perform(send, by: .server, token: token)])
            return token
        }
        let errors = try tokens.map { token -> RequestError? in
            guard case .performed(_, .failure(let error)) = try subject.outputs.wait(for: token)
            else { return nil }
            return error
        }
        #expect(errors.prefix(60).allSatisfy { $0?.code == .originUnavailable })
        #expect(errors.prefix(60).allSatisfy { $0 != .tooManyWaiting })
        #expect(errors.suffix(10).allSatisfy { $0 == .tooManyWaiting })
        proxy.set(.open)
        try subject.waitUntilOnline()
        try subject.send("there is room again")
    }

    @Test func deletingTheLastMessageWalksOverNoTombstones() throws {
        try subject.conversation()
        try subject.send("stays")
        func delete(_ message: EncodedMessage) throws {
            try subject.perform(.delete(conversation: "c1", id: message.id))
        }
        for number in 1...300 { try delete(try subject.send("goes \(number)")) }
        let sent = try subject.send("goes too")
        let before = (try calls("zscore"), try calls("zcount"))
        try delete(sent)
        // A search by halves; some for the check of the log.
        #expect(try calls("zscore") - before.0 <= 4)
        #expect((4...20).contains(try calls("zcount") - before.1))
        guard case .conversation(let view) = try subject.ask(.conversation("c1")) else {
            throw TestFailure("no conversation")
        }
        #expect(view.lastMessage?.seq == 1)
        expectNoBreak()
    }

    @Test func entriesOfAListThatLeadNowhereAreForgottenTogether() throws {
        try list(of: "dave", 3000, madeAt: 1000)
        let query = HistoryQuery.conversations(user: "dave", limit: 20, cursor: nil)
        guard case .conversations(let list) = try subject.ask(query) else {
            throw TestFailure("no list")
        }
        #expect(list.total == 0)
        let isEmpty = Deadline.standard.poll {
            // The tag of the list alone.
            (try? server.ask("ZCARD", "gapless:user:dave").int) == 1
        }
        #expect(isEmpty)
        expectNoBreak()
    }

    /// How often the server has done it.
    private func calls(_ command: String) throws -> Int {
        let found = try server.info("commandstats")["cmdstat_\(command)"]
        return found?.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0
    }
}
