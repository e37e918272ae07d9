import Engine
import JSON
import Testing
import Wire

/// Sessions whose sockets are served by another loop.
@Suite struct InFlightTests {
    /// A subscriber in transit: what it was told last has not landed yet.
    private static func subscriber(
        soft: Int = 100_000, hard: Int = 1_000_000
    ) -> (Rig, SessionID) {
        var limits = Limits()
        limits.outboxSoft = soft
        limits.outboxHard = hard
        let rig = Rig(limits)
        rig.create()
        let session = rig.connect("ann")
        rig.send(session, 2, "subscribeMessages", #""conversation":"c1""#)
        _ = rig.take(session)
        rig.away = [session]
        rig.say("first")
        #expect(rig.take(session).flatMap(\.seqs) == [1])
        return (rig, session)
    }

    @Test func whatComesMeanwhileIsOneWrite() {
        let (rig, session) = Self.subscriber()
        for _ in 0..<3 { rig.say("more") }
        #expect(rig.take(session).isEmpty)
        rig.land()
        #expect(rig.take(session).flatMap(\.seqs) == [2, 3, 4])
        rig.land()
        #expect(rig.take(session).isEmpty)
        rig.say("last")
        #expect(rig.take(session).flatMap(\.seqs) == [5])
        #expect(rig.engine.report.totals().accounting.error == 0)
    }

    @Test func whatIsOnItsWayCounts() {
        let (rig, session) = Self.subscriber()
        let onItsWay = rig.engine.report.totals().outboxBytes
        #expect(onItsWay == rig.bytes(of: session) && onItsWay > 0)
        // It is not blocked: of that only its loop can tell.
        #expect(rig.engine.sockets.blockedSessions().isEmpty)
        rig.land()
        #expect(rig.engine.report.totals().outboxBytes == 0)
    }

    @Test func theSoftLimitWaitsForTheSocket() {
        let (rig, session) = Self.subscriber(soft: 2000)
        for _ in 0..<50 { rig.say("more") }
        #expect(rig.engine.report.totals().outboxBytes > 4000)
        #expect(rig.engine.report.figures.shed == 0)
        rig.land()
        #expect(rig.take(session).flatMap(\.seqs) == Array(2...51))
    }

    @Test func aSocketThatTookNothingIsShedAtTheSoftLimit() {
        let (rig, session) = Self.subscriber(soft: 2000)
        for _ in 0..<50 { rig.say("more") }
        rig.land(unsent: 500)
        #expect(
            rig.engine.sockets.blockedSessions() == [session]
                && rig.engine.sockets.isBlocked(session))
        #expect(rig.engine.report.figures.shed == 1)
        rig.engine.sockets.progressed(session, unsent: 0, at: rig.now)
        rig.turn()
        #expect(rig.take(session).map(\.event).contains("gap"))
        #expect(rig.engine.report.totals().accounting.error == 0)
    }

    @Test func theHardLimitIsEverybodys() {
        let (rig, session) = Self.subscriber(soft: 2000, hard: 4000)
        for _ in 0..<50 {
            rig.say("more")
            #expect(rig.engine.report.totals().outboxBytes <= 4000)
        }
        #expect(rig.engine.report.figures.shed > 0 && rig.closes.isEmpty)
        rig.land()
        #expect(rig.take(session).map(\.event).contains("gap"))
        #expect(rig.engine.report.totals().accounting.error == 0)
    }

    @Test func requestsWaitForTheAnswerThatIsOnItsWay() {
        let (rig, session) = Self.subscriber(soft: 2000)
        rig.land()
        rig.say(String(repeating: "long ", count: 1000))
        _ = rig.take(session)
        let ask = #""conversation":"c1","limit":1"#
        rig.send(session, (3, "fetchMessages", ask), (4, "fetchMessages", ask))
        #expect(rig.take(session).isEmpty)
        rig.land()
        #expect(rig.take(session).compactMap(\.id) == [3])
        rig.land()
        #expect(rig.take(session).compactMap(\.id) == [4])
    }

    @Test func whoIsClosedInTransitIsGivenTheRest() {
        let (rig, session) = Self.subscriber()
        rig.say("last words")
        #expect(rig.engine.disconnect(user: "ann", mayComeBack: true) == 1)
        rig.turn()
        #expect(rig.closes[session] == .draining)
        let rest = rig.rest(of: session)
        #expect(rest.flatMap(\.seqs) == [2] && rest.last?.event == "goaway")
        rig.land()
        rig.engine.closed(session)
        let totals = rig.engine.report.totals()
        #expect(totals.accounting.error == 0 && totals.outboxBytes == 0)
    }

    @Test func whatLandsAfterTheEndIsForgotten() {
        let (rig, session) = Self.subscriber()
        rig.say("never sent")
        rig.engine.closed(session)
        rig.land(unsent: 100)
        #expect(rig.take(session).isEmpty && rig.engine.sockets.blockedSessions().isEmpty)
        let totals = rig.engine.report.totals()
        #expect(totals.accounting.error == 0 && totals.outboxBytes == 0)
    }
}
