import Chat
import Engine
import JSON
import Simulation
import Testing
import Wire

/// What a connection may do and what becomes of it: `protocol.md` 2.
@Suite struct EngineTests {
    // MARK: - Connecting

    @Test(arguments: [
        #"{"id":1,"method":"fetchConversations"}"#, #"{"id":1,"method":"noSuchMethod"}"#,
    ])
    func aRequestBeforeConnectCloses(_ text: String) {
        let rig = Rig()
        let session = rig.open()
        rig.receive(session, text)
        rig.turn()
        #expect(rig.closes[session] == .protocolViolation)
    }

    @Test func anIllFormedFrameBeforeConnectIsAnsweredAndNothingElse() {
        let rig = Rig()
        let session = rig.open()
        rig.receive(session, "{")
        rig.receive(session, "{}", isBinary: true)
        rig.turn()
        #expect(rig.take(session).map(\.id) == [0, 0])
        #expect(rig.closes.isEmpty)
        rig.send(session, 1, "connect", #""user":"ann""#)
        #expect(rig.take(session).first?.result?["user"]?.string == "ann")
    }

    @Test func whoSaysNothingIsClosedWhenTheTimeIsOver() {
        var limits = Limits()
        limits.connectTimeout = 10_000
        let rig = Rig(limits)
        let silent = rig.open()
        let connected = rig.connect("ann")
        rig.pass(9)
        #expect(rig.closes.isEmpty)
        rig.pass(2)
        #expect(rig.closes == [silent: .protocolViolation])
        rig.pass(60)
        #expect(rig.closes[connected] == nil)
    }

    @Test func connectingTwiceIsRefusedAndChangesNothing() {
        let rig = Rig()
        let session = rig.connect("ann")
        rig.send(session, 2, "connect", #""user":"ben""#)
        #expect(rig.take(session).map(\.errorCode) == ["bad_request"])
        rig.create("c1", ["ann"])
        rig.send(session, 3, "fetchConversation", #""conversation":"c1""#)
        #expect(rig.take(session).last?.result != nil)
        #expect(rig.closes.isEmpty)
    }

    @Test func theConnectionLimitsClose() {
        var limits = Limits()
        limits.connections = 3
        limits.connectionsPerUser = 2
        let rig = Rig(limits)
        let first = rig.connect("ann")
        _ = rig.connect("ann")
        let third = rig.connect("ann")
        #expect(rig.closes == [third: .connectionLimit])
        rig.engine.closed(third)
        rig.engine.closed(first)
        _ = rig.connect("ann")
        _ = rig.connect("ben")
        let fourth = rig.open()
        #expect(rig.closes == [third: .connectionLimit, fourth: .connectionLimit])
    }

    /// Handshakes without `connect` keep nobody out.
    @Test func aStrangerMakesRoomForANewConnection() {
        var limits = Limits()
        limits.connections = 2
        let rig = Rig(limits)
        let ann = rig.connect("ann")
        let stranger = rig.open()
        let ben = rig.connect("ben")
        #expect(rig.closes == [stranger: .connectionLimit])
        rig.engine.closed(stranger)
        let late = rig.open()
        #expect(rig.closes == [stranger: .connectionLimit, late: .connectionLimit])
        rig.send(ann, 2, "fetchConversations")
        rig.send(ben, 2, "fetchConversations")
        #expect(rig.take(ann).last?.result != nil && rig.take(ben).last?.result != nil)
    }

    // MARK: - Tokens

    @Test func anExpiredTokenClosesDifferentlyFromARefusedOne() {
        let rig = Rig()
        rig.now.milliseconds += 60_000
        let expired = rig.open()
        rig.send(expired, 1, "connect", #""token":"ann 40""#)
        let refused = rig.open()
        rig.send(refused, 1, "connect", #""token":"forged""#)
        #expect(rig.closes == [expired: .tokenExpired, refused: .tokenRefused])
        #expect(rig.take(expired).map(\.errorCode) == ["unauthorized"])
        #expect(rig.take(refused).map(\.errorCode) == ["unauthorized"])
    }

    @Test func theTokenOfTheUpgradeCountsUnlessParamsBringOne() {
        let rig = Rig()
        let bare = rig.open(bearer: "ann 1000")
        rig.send(bare, 1, "connect")
        #expect(rig.take(bare).first?.result?["user"]?.string == "ann")
        let other = rig.open(bearer: "ann 1000")
        rig.send(other, 1, "connect", #""token":"ben 1000""#)
        #expect(rig.take(other).first?.result?["user"]?.string == "ben")
    }

    @Test func theConnectionEndsWithItsTokenAndNotBeforeTheLeewayIsOver() {
        let rig = Rig()
        let session = rig.open()
        rig.send(session, 1, "connect", #""token":"ann 40""#)
        rig.pass(49)
        #expect(rig.closes.isEmpty)
        rig.pass(2)
        #expect(rig.closes == [session: .tokenExpired])
    }

    @Test func refreshingProlongsForTheSameUserAlone() {
        let rig = Rig()
        let session = rig.open()
        rig.send(session, 1, "connect", #""token":"ann 40""#)
        _ = rig.take(session)
        rig.send(
            session, (2, "refresh", #""token":"ben 900""#), (3, "refresh", #""token":"forged""#),
            (4, "refresh", #""token":"ann -20""#))
        #expect(
            rig.take(session).map(\.errorCode) == ["forbidden", "unauthorized", "unauthorized"])
        #expect(rig.closes.isEmpty)
        rig.send(session, 5, "refresh", #""token":"ann 100""#)
        let expires = Timestamp(milliseconds: Doorkeeper.start.milliseconds + 100_000)
        #expect(rig.take(session).first?.result?["expiresAt"]?.string == expires.description)
        rig.pass(109)
        #expect(rig.closes.isEmpty)
        rig.pass(2)
        #expect(rig.closes == [session: .tokenExpired])
    }

    // MARK: - Requests

    @Test func anIDInUseIsRefusedAndTheFirstRequestIsStillAnswered() {
        let rig = Rig()
        rig.create()
        let session = rig.connect("ann")
        rig.isHoldingReads = true
        rig.send(
            session, (7, "fetchMessages", #""conversation":"c1""#),
            (7, "fetchMessages", #""conversation":"c1""#))
        #expect(rig.take(session).map { [$0.id, 0] } == [[0, 0]])
        rig.isHoldingReads = false
        rig.answerReads()
        #expect(rig.take(session).map(\.id) == [7])
        rig.send(session, 7, "fetchMessages", #""conversation":"c1""#)
        #expect(rig.take(session).map(\.id) == [7])
    }

    @Test func aClientMayAskForSoMuchASecondAndHearsWhenItMayAgain() {
        var limits = Limits()
        limits.requestsPerSecond = 2
        let rig = Rig(limits)
        let session = rig.connect("ann")
        // Twice as many at once, one of which was `connect`.
        for id in 2...5 { rig.send(session, id, "unsubscribeConversations") }
        let frames = rig.take(session)
        #expect(frames.map(\.errorCode) == [nil, nil, nil, "rate_limited"])
        let error = frames.last?["error"]?.object
        #expect(error?["retry"]?.string == "later")
        #expect(error?["after"]?.int == 500)
        #expect(frames.last?.id == 5)
        rig.now.milliseconds += 499
        rig.send(session, 6, "unsubscribeConversations")
        #expect(rig.take(session).map(\.errorCode) == ["rate_limited"])
        rig.now.milliseconds += 1
        rig.send(session, 7, "unsubscribeConversations")
        #expect(rig.take(session).map(\.errorCode) == [nil])
        #expect(rig.closes.isEmpty)
    }

    // MARK: - Time

    @Test func whoHearsNothingIsPinged() {
        var limits = Limits()
        limits.pingInterval = 25_000
        let rig = Rig(limits)
        rig.create("c1", ["ann"])
        let idle = rig.connect("ann")
        let busy = rig.connect("ann")
        rig.send(busy, 2, "subscribeMessages", #""conversation":"c1""#)
        _ = rig.take(busy)
        for _ in 0..<10 {
            rig.pass(10)
            rig.say("hello")
        }
        // A WebSocket ping goes to everybody and is something that was sent.
        #expect(rig.pings[idle] ?? 0 >= 3)
        #expect(rig.pings[busy] ?? 0 >= 3)
        #expect(rig.take(busy).allSatisfy { $0.event == "messages" })
        #expect(rig.closes.isEmpty)
    }

    @Test func noPongInTimeClosesUnlessTheSocketTakesBytes() {
        var limits = Limits()
        limits.pingInterval = 25_000
        limits.pongTimeout = 30_000
        let rig = Rig(limits)
        let gone = rig.connect("ann")
        let slow = rig.connect("ben")
        let fine = rig.connect("cat")
        for _ in 0..<12 {
            rig.pass(10, answeringPings: false)
            rig.engine.ponged(fine, at: rig.now)
            rig.engine.sockets.progressed(slow, unsent: 10, at: rig.now)
        }
        #expect(rig.closes == [gone: .noPong])
        #expect(rig.engine.report.totals().accounting.error == 0)
    }

    /// Those who came together are closed together, but not in one turn.
    @Test func aThousandConnectionsThatSayNothingDoNotFillATurn() {
        let rig = Rig()
        for _ in 0..<1000 { _ = rig.open() }
        rig.pass(9)
        #expect(rig.closes.isEmpty)
        rig.now.milliseconds += 1000
        rig.engine.tick(at: rig.now)
        var turns = 0
        repeat {
            let closed = rig.engine.endTurn(at: rig.now, instant: rig.instant).closes
            turns += 1
            #expect(closed.count < 100 && closed.allSatisfy { $0.1 == .protocolViolation })
            for (session, _) in closed { rig.engine.closed(session) }
        } while rig.engine.hasMore
        #expect(turns > 10 && rig.engine.report.totals().sessions == 0)
    }

    @Test func drainingGivesEachItsOwnSlotAndTakesNobodyNew() {
        let rig = Rig()
        let sessions = (0..<5).map { rig.connect("user\($0)") }
        rig.engine.beginDrain(window: 10_000, deadline: 30_000, at: rig.now)
        rig.turn()
        let slots = sessions.map { rig.take($0).first?["reconnectIn"]?.int ?? -1 }
        #expect(slots == [0, 2000, 4000, 6000, 8000])
        let late = rig.open()
        #expect(rig.closes == [late: .draining])
        rig.pass(5)
        #expect(Set(rig.closes.keys) == Set([late] + sessions.prefix(3)))
        #expect(!rig.engine.isDrained)
        rig.pass(4)
        #expect(rig.closes.count == 6 && rig.closes.values.allSatisfy { $0 == .draining })
        for session in sessions + [late] { rig.engine.closed(session) }
        #expect(rig.engine.isDrained)
    }

    @Test func aDrainEndsAtItsDeadlineWithClientsLeft() {
        let rig = Rig()
        _ = rig.connect("ann")
        rig.engine.beginDrain(window: 1000, deadline: 5000, at: rig.now)
        rig.pass(4)
        #expect(!rig.engine.isDrained)
        rig.pass(1)
        #expect(rig.engine.isDrained)
    }

    @Test func theServerAPIDisconnectsAUser() {
        let rig = Rig()
        let ann = rig.connect("ann")
        let ben = rig.connect("ben")
        let other = rig.connect("ben")
        #expect(rig.engine.disconnect(user: "ben", mayComeBack: false) == 2)
        #expect(rig.engine.disconnect(user: "ann", mayComeBack: true) == 1)
        rig.turn()
        #expect(
            rig.closes == [ann: .draining, ben: .disconnected, other: .disconnected])
    }

    // MARK: - Slow readers

    @Test func aStalledReaderIsToldOfAGapAndNobodyElseNotices() {
        var limits = Limits()
        limits.outboxSoft = 2000
        let rig = Rig(limits)
        rig.create()
        let slow = rig.connect("ann")
        let fast = rig.connect("ben")
        for session in [slow, fast] {
            rig.send(session, 2, "subscribeMessages", #""conversation":"c1""#)
            _ = rig.take(session)
        }
        rig.blocked = [slow]
        for _ in 0..<20 { rig.say("hello") }
        #expect(rig.take(fast).map(\.seqs) == (1...20).map { [$0] })
        // The first event went out into the socket, the others wait.
        #expect(rig.take(slow).map(\.seqs) == [[1]])
        rig.blocked = []
        rig.engine.sockets.progressed(slow, unsent: 0, at: rig.now)
        rig.turn()
        let frames = rig.take(slow)
        #expect(frames.first?.event == "gap")
        #expect(frames.first?["prev"]?.int == 2)
        #expect(rig.closes.isEmpty)
        let accounting = rig.engine.report.totals().accounting
        #expect(accounting.error == 0 && accounting.coalesced > 0 && accounting.queued == 0)
    }

    /// Events alone bring a reader over the hard limit: here each of ten conversations has become a
    /// gap, and there is nothing left to say shorter.
    @Test func aReaderOverTheHardLimitIsClosed() {
        var limits = Limits()
        limits.outboxSoft = 500
        limits.outboxHard = 3000
        let rig = Rig(limits)
        let names = (1...10).map { "c\($0)" }
        for name in names { rig.create(name) }
        let session = rig.connect("ann")
        for (id, name) in names.enumerated() {
            rig.send(session, 2 + id, "subscribeMessages", #""conversation":"\#(name)""#)
        }
        rig.blocked = [session]
        for name in ["c1"] + names where rig.closes.isEmpty { rig.say("hello", to: name) }
        #expect(rig.closes == [session: .outboxOverflow])
        #expect(rig.engine.report.totals().accounting.error == 0)
    }

    /// However much it asks for, at once or in turn: it is answered as far as it reads.
    @Test(arguments: [true, false]) func whoAsksAndDoesNotReadIsNotAnsweredFurther(atOnce: Bool) {
        var limits = Limits()
        limits.outboxSoft = 3000
        limits.outboxHard = 6000
        let rig = Rig(limits)
        rig.create()
        for _ in 0..<10 { rig.say("hello") }
        let session = rig.connect("ann")
        rig.send(session, 2, "fetchMessages", #""conversation":"c1""#)
        let size = rig.bytes(of: session)
        #expect(size > 2000 && size < 3000)
        _ = rig.take(session)

        rig.blocked = [session]
        for id in 3...40 {
            let params = #"{"conversation":"c1"}"#
            rig.receive(
                session, #"{"id":\#(id),"method":"fetchMessages","params":\#(params)}"#)
            if !atOnce { rig.turn() }
        }
        rig.turn()
        #expect(rig.engine.report.totals().outboxBytes <= 3000 + size)
        #expect(rig.closes.isEmpty)

        // It reads a little, and has a little more.
        rig.engine.sockets.progressed(session, unsent: 0, at: rig.now)
        rig.turn()
        #expect(rig.engine.report.totals().outboxBytes <= 3000 + size)
        let early = rig.take(session).compactMap { $0["id"]?.int }
        #expect(early.count < 10)
        // It reads all, and misses nothing.
        rig.blocked = []
        rig.engine.sockets.progressed(session, unsent: 0, at: rig.now)
        rig.turn()
        let late = rig.take(session).compactMap { $0["id"]?.int }
        #expect(early + late == Array(3...40))
        #expect(rig.closes.isEmpty && rig.engine.report.totals().accounting.error == 0)
    }

    // MARK: - A successor that can't begin before this process has ended

    @Test func slotsBeginWhenTheSuccessorIsThere() {
        let rig = Rig()
        let sessions = (0..<100).map { rig.connect("user\($0)") }
        // One that no longer takes anything.
        rig.blocked = [sessions[50]]
        rig.engine.beginDrain(
            window: 10_000, deadline: 30_000, succession: .after, at: rig.now)
        rig.turn()
        let slots = sessions.map { rig.take($0).first?["reconnectIn"]?.int ?? -1 }
        #expect(slots == (0..<100).map { 3000 + 100 * $0 })
        #expect(rig.engine.drainedIn == 13_000)
        rig.pass(1)
        #expect(rig.closes.count == 100)
        for session in sessions where session != sessions[50] { rig.engine.closed(session) }
        #expect(!rig.engine.isDrained)
        rig.pass(1)
        // A client that is left is cut off: the first slot is a second away.
        #expect(rig.engine.isDrained)
    }
}
