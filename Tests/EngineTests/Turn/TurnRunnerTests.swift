import Chat
import Engine
import Ports
import Simulation
import Testing
import Wire

/// The order within a turn: effects, sockets, reads, sockets, closes.
@Suite struct TurnRunnerTests {
    /// A conversation, an engine that follows a log of its own, and Ann who watches.
    private static func world() -> TurnLog {
        let world = TurnLog()
        world.connect(1, "ann")
        world.write(.put(id: "c1", .init(participants: ["ann", "ben"])))
        world.send(1, "subscribeMessages", #""conversation":"c1""#)
        world.settle()
        return world
    }

    @Test func socketsAreWrittenBeforeTheCacheIsRead() {
        let world = Self.world()
        world.say("hello")
        world.send(1, "fetchMessages", #""conversation":"c1","limit":1"#)
        world.lines = []
        #expect(world.run() == .never)
        #expect(world.lines == ["hand over", "write 1", "read page", "hand over", "write 1"])
    }

    @Test func aWriteGoesOutBeforeReadsWhichWaitForIt() {
        let world = Self.world()
        world.send(1, "fetchMessages", #""conversation":"c1","limit":1"#)
        world.send(1, "sendMessage", #""conversation":"c1","body":"hello""#)
        world.lines = []
        let began = world.instant
        #expect(world.run() == .at(began + .milliseconds(1)))
        #expect(world.lines == ["perform", "hand over", "write 1"])
        world.instant += .milliseconds(1)
        #expect(world.run() == .never)
        #expect(world.lines.contains("read page"))
    }

    @Test func readsEndWithTheBudgetAndGoOnInTheNextTurn() {
        let world = Self.world()
        world.readTime = .microseconds(200)
        for _ in 0..<7 { world.send(1, "fetchMessages", #""conversation":"c1","limit":1"#) }
        world.lines = []
        #expect(world.run() == .now)
        #expect(world.lines.count { $0 == "read page" } == 3)
        #expect(world.run() == .now)
        #expect(world.run() == .never && world.turns.isIdle)
        #expect(world.lines.count { $0 == "read page" } == 7)
    }

    /// However long the turn wrote before: others' answers don't wait for a fan-out each.
    @Test func readsHaveTheirTimeAfterALongFanOut() {
        let world = Self.world()
        (world.readTime, world.writeTime) = (.microseconds(200), .milliseconds(4))
        for _ in 0..<7 { world.send(1, "fetchMessages", #""conversation":"c1","limit":1"#) }
        world.say("hello")
        world.lines = []
        #expect(world.run() == .now)
        #expect(world.lines.count { $0 == "read page" } == 3, "\(world.lines)")
    }

    /// After a first one, for which the kernel was not asked.
    @Test func aReadThatLostItsCoreIsNotFollowedByARest() {
        let world = Self.world()
        world.readTime = .milliseconds(2)
        world.send(1, "fetchMessages", #""conversation":"c1","limit":1"#)
        _ = world.run()
        world.instant += .milliseconds(4)
        world.lostTime = .microseconds(1_900)
        for _ in 0..<2 { world.send(1, "fetchMessages", #""conversation":"c1","limit":1"#) }
        #expect(world.run() == .now)
        #expect(world.run() == .never && world.turns.isIdle)
    }

    @Test func aReadThatTookLongIsFollowedByARest() {
        let world = Self.world()
        world.readTime = .milliseconds(2)
        for _ in 0..<2 { world.send(1, "fetchMessages", #""conversation":"c1","limit":1"#) }
        let began = world.instant
        #expect(world.run() == .at(began + .milliseconds(6)) && !world.turns.isIdle)
        world.lines = []
        world.instant = began + .microseconds(5_999)
        #expect(world.run() == .at(began + .milliseconds(6)) && !world.lines.contains("read page"))
        world.instant = began + .milliseconds(6)
        #expect(world.run() == .never && world.lines.contains("read page"))
    }

    /// Ben asks for one thing, behind forty that Ann asks for on four connections.
    @Test func aUserWhoAsksForLittleComesBeforeTheRestOfOneWhoAsksForMuch() {
        let world = Self.world()
        for session in 2...4 as ClosedRange<SessionID> { world.connect(session, "ann") }
        world.connect(5, "ben")
        world.readTime = .microseconds(100)
        world.answered = []
        for _ in 0..<10 {
            for session in 1...4 as ClosedRange<SessionID> {
                world.send(session, "fetchMessages", #""conversation":"c1","limit":150"#)
            }
        }
        _ = world.run()
        world.send(5, "fetchMessages", #""conversation":"c1","limit":1"#)
        let before = world.answered.count
        world.settle()
        #expect(world.answered.count == 41 && before < 20)
        let others = world.answered[before...].prefix { $0 != 5 }.count
        #expect(others <= 1, "\(world.answered): Ann has one more turn, then it is Ben's")
    }

    @Test func whileALongReadRestsOthersAreReadFor() {
        let world = Self.world()
        world.connect(2, "ben")
        world.readTime = .milliseconds(2)
        world.answered = []
        for _ in 0..<2 { world.send(1, "fetchMessages", #""conversation":"c1","limit":1"#) }
        let began = world.instant
        #expect(world.run() == .at(began + .milliseconds(6)))
        world.readTime = .microseconds(100)
        world.send(2, "fetchMessages", #""conversation":"c1","limit":1"#)
        #expect(world.run() == .at(began + .milliseconds(6)) && world.answered == [1, 2])
        world.instant = began + .milliseconds(6)
        #expect(world.run() == .never && world.answered == [1, 2, 1])
    }

    /// Others who ask for more than a turn reads, all the time, don't keep somebody from what was
    /// set aside because one read of theirs took long.
    @Test func whatWasSetAsideIsReadThoughOthersAskAllTheTime() {
        let world = Self.world()
        for session in 2...4 as ClosedRange<SessionID> { world.connect(session, "ben") }
        world.readTime = .milliseconds(2)
        world.answered = []
        for _ in 0..<2 { world.send(1, "fetchMessages", #""conversation":"c1","limit":1"#) }
        _ = world.run()
        world.readTime = .microseconds(200)
        var turns = 0
        while world.answered.count(where: { $0 == 1 }) < 2, turns < 100 {
            turns += 1
            for session in 2...4 as ClosedRange<SessionID> {
                for _ in 0..<2 {
                    world.send(session, "fetchMessages", #""conversation":"c1","limit":1"#)
                }
            }
            if case .at(let end) = world.run() { world.instant = end }
        }
        #expect(turns < 20, "\(world.answered)")
        world.settle()
        #expect(world.turns.isIdle)
    }

    /// A storm: everybody comes back with the same, before anybody is answered.
    @Test func whatSomebodyElseWasAnsweredIsNotReadAgain() {
        let world = Self.world()
        let others = 2...6 as ClosedRange<SessionID>
        for session in others { world.connect(session, "ben") }
        for session in others {
            world.send(session, "subscribeMessages", #""conversation":"c1","limit":5"#)
        }
        world.lines = []
        world.settle()
        #expect(world.lines.count { $0 == "read page" } == 1, "\(world.lines)")
        world.lines = []
        world.say("hello")
        world.settle()
        #expect(world.lines.contains("write 1 2 3 4 5 6"), "\(world.lines)")
    }

    @Test func aLongPageIsReadBesideTheTurns() {
        let world = Self.world()
        world.send(1, "fetchMessages", #""conversation":"c1","limit":1000"#)
        world.lines = []
        world.settle()
        #expect(world.lines.contains("slow page") && !world.lines.contains("read page"))
        // What the stream has moved past meanwhile is asked again, in a turn: it can't be overtaken
        // for ever.
        let answer = world.lookAtSlow()
        world.say("hello")
        world.finishSlow(with: answer)
        world.settle()
        #expect(world.lines.contains("read page") && world.turns.isIdle)
    }

    @Test func oneSlowReadAtATimeAndNoneHoldsUpTheOthers() {
        let world = Self.world()
        for _ in 0..<120 { world.say("hello") }
        world.settle()
        world.connect(2, "ben")
        let head = world.head
        let ends = #""epoch":"\#(head.epoch)","seq":120,"rev":\#(head.rev),"mark":"\#(head.mark)""#
        let held = #"{"head":{\#(ends)},"asOf":\#(head.rev),"runs":[\#(Self.manyRuns)]}"#
        let have = #""conversation":"c1","have":\#(held)"#
        for session in [1, 2] as [SessionID] {
            world.send(session, "unsubscribeMessages", #""conversation":"c1""#)
        }
        world.settle()
        // With the same limit too, the second one would be given what the first one was.
        for session in [1, 2] as [SessionID] {
            world.send(session, "subscribeMessages", #"\#(have),"limit":\#(50 + session)"#)
        }
        world.send(1, "fetchMessages", #""conversation":"c1","limit":1"#)
        world.lines = []
        world.settle()
        #expect(world.lines.count { $0 == "slow catchUp" } == 1, "\(world.lines)")
        #expect(world.lines.contains("read page") && !world.turns.isIdle)
        world.finishSlow()
        world.settle()
        #expect(world.lines.count { $0 == "slow catchUp" } == 2)
        world.finishSlow()
        world.settle()
        #expect(world.turns.isIdle)
    }

    @Test func aSessionThatIsClosedIsWrittenFirst() {
        let world = Self.world()
        world.send(1, "fetchMessages", #""conversation":"c1","limit":1"#)
        _ = world.engine.disconnect(user: "ann", mayComeBack: false)
        world.lines = []
        world.settle()
        #expect(world.lines.last == "close 1", "\(world.lines)")
        #expect(!world.lines.contains("read page"), "a read for nobody")
    }

    private static var manyRuns: String {
        (0..<60).map { "[\(2 * $0 + 1),\(2 * $0 + 1)]" }.joined(separator: ",")
    }
}

/// Writes down what a turn does, in its order. Time passes as a test says.
private final class TurnLog: TurnEffects {
    let engine: Engine
    let turns: TurnRunner
    var lines: [String] = []
    var instant = Duration.seconds(100)
    /// What a read takes.
    var readTime = Duration.zero
    /// For how much of that others have the core.
    var lostTime = Duration.zero
    /// What a write of the sockets takes.
    var writeTime = Duration.zero
    private var used = ThreadUsage(ran: .zero)
    private var origin = Origin()
    private let now = Timestamp(milliseconds: 1_700_000_000_000)
    private var slow: CacheRead?
    /// For whom reads were answered in a turn, in this order.
    var answered: [SessionID] = []
    private var nextID = 0

    init() {
        var limits = Limits()
        limits.recentBytes = 0
        engine = Engine(
            limits: limits, server: ServerIdentity(name: "gapless", version: "0", commit: "0"),
            authenticator: Doorkeeper(), instance: "log", at: now)
        turns = TurnRunner(engine)
    }

    var head: Head {
        origin.log("c1")?.head ?? Head(epoch: "", seq: 0, rev: 0, mark: "", floor: 1)
    }

    func run() -> Wake { turns.run(self) }

    /// Lets turns pass until nothing is due.
    func settle() {
        while true {
            switch run() {
            case .now: continue
            case .at(let end): instant = end
            case .never: return
            }
        }
    }

    func connect(_ session: SessionID, _ user: String) {
        engine.connected(session, at: now)
        send(session, "connect", #""user":"\#(user)""#)
        settle()
    }

    func send(_ session: SessionID, _ method: String, _ params: String) {
        nextID += 1
        let text = #"{"id":\#(nextID),"method":"\#(method)","params":{\#(params)}}"#
        engine.received(
            session, RequestFrame.decode(Array(text.utf8), isBinary: false), at: now)
    }

    func write(_ operation: Operation) {
        engine.feed(origin.perform(operation, by: .server).events, at: now)
    }

    func say(_ body: String) {
        write(
            .send(
                conversation: "c1",
                [NewMessage(author: "ann", content: MessageContent(body: body))]))
    }

    func finishSlow(with answer: Result<Answer, RequestError>? = nil) {
        guard let read = slow else { return }
        slow = nil
        turns.finishSlow(read, answer ?? look(read), at: now, self)
    }

    /// What the slow read finds now.
    func lookAtSlow() -> Result<Answer, RequestError>? { slow.map(look) }

    private func look(_ read: CacheRead) -> Result<Answer, RequestError> {
        origin.archive.answer(read.query, atCommit: origin.commit, told: origin.commit)
    }

    private static func name(_ read: CacheRead) -> String {
        switch read.query {
        case .page: "page"
        case .catchUp: "catchUp"
        default: "other"
        }
    }

    // MARK: - What a turn does

    func moment() -> Moment { Moment(now: now, instant: instant) }

    func usage() -> ThreadUsage { used }

    func perform(_ call: UpstreamCall) {
        if case .perform(let operation, let caller, let token) = call {
            lines.append("perform")
            let performed = origin.perform(operation, by: caller)
            engine.feed(performed.events, at: now)
            engine.performed(token, performed.result, at: now)
        }
    }

    func handOver() { lines.append("hand over") }

    func store(_ token: UInt64, _ writes: [StoreWrite]) -> Bool {
        lines.append("store")
        return true
    }

    func answer(_ read: CacheRead) -> Result<Answer, RequestError>? {
        lines.append("read \(Self.name(read))")
        instant += readTime
        used.ran += readTime - lostTime
        answered.append(read.payer.session)
        return look(read)
    }

    func beginSlow(_ read: CacheRead) {
        lines.append("slow \(Self.name(read))")
        slow = read
    }

    func finished(_ read: CacheRead, flush sessions: [Session]) {
        for session in sessions { _ = engine.sockets.take(session, .max) { _ in } }
    }

    func write(_ sessions: consuming [Session]) -> Duration? {
        instant += writeTime
        lines.append("write \(sessions.map { "\($0.id)" }.joined(separator: " "))")
        for session in sessions { _ = engine.sockets.take(session, .max) { _ in } }
        return nil
    }

    func close(_ session: SessionID, _ code: CloseCode) { lines.append("close \(session)") }

    func throttle(_ session: SessionID, _ isThrottled: Bool) {
        lines.append("throttle \(session) \(isThrottled)")
    }
}
