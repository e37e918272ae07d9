import Chat
import Testing
import Wire

@testable import Engine

/// Who is connected and who is read, decided by `SessionRegistry` alone.
@Suite struct SessionRegistryTests {
    private static let now = MachineSamples.start
    private var registry = SessionRegistry(at: now)
    private var limits = Limits()

    @discardableResult
    private mutating func add(_ id: SessionID, from address: String = "a") -> (Session, Bool) {
        let session = Session(id: id, at: Self.now, rate: 0)
        let hasRoom = registry.count < limits.connections
        return (session, registry.add(session, from: address, limits, hasRoom: hasRoom))
    }

    private mutating func signIn(_ session: Session, as user: String) -> Bool {
        registry.signIn(session, as: user, limits, at: Self.now)
    }

    @Test mutating func thereIsRoomForSoManyAndNoMore() {
        limits.connections = 2
        #expect([add(1).1, add(2).1, add(3).1] == [true, true, false])
        // It is here until it is closed, and counts.
        #expect(registry.count == 3 && registry[3] != nil)
        _ = registry.remove(3)
        _ = registry.remove(2)
        #expect([add(4).1] == [true])
    }

    @Test mutating func aStrangerIsDispensableUntilItSignsInOrCloses() {
        #expect(registry.dispensable == nil)
        let sessions = (1...3).map { add(SessionID($0)).0 }
        #expect(signIn(sessions[0], as: "ann"))
        registry.close(sessions[1], .protocolViolation)
        #expect(registry.dispensable === sessions[2])
        _ = registry.remove(3)
        #expect(registry.dispensable == nil)
    }

    @Test mutating func eachAddressHasItsOwnRoom() {
        limits.connectionsPerAddress = 2
        #expect([add(1).1, add(2).1, add(3).1] == [true, true, false])
        #expect([add(4, from: "b").1] == [true])
        // Who was not let in gives no place back.
        _ = registry.remove(3)
        #expect([add(5).1] == [false])
        _ = registry.remove(1)
        #expect([add(6).1, add(7).1] == [true, false])
    }

    @Test mutating func aUserHasSoManySessionsAndGivesThemBack() {
        limits.connectionsPerUser = 2
        let sessions = (1...3).map { add(SessionID($0)).0 }
        let isIn = sessions.map { signIn($0, as: "ann") }
        #expect(isIn == [true, true, false] && sessions[2].user == nil)
        #expect(registry.of("ann".id).map(\.id) == [1, 2])
        registry.signOut(sessions[0])
        #expect(registry.of("ann".id).map(\.id) == [2])
        #expect([signIn(sessions[2], as: "ann")] == [true])
        registry.signOut(sessions[1])
        registry.signOut(sessions[2])
        #expect(registry.of("ann".id).isEmpty)
    }

    @Test mutating func aBudgetIsAUsersAndOutlivesTheSession() {
        limits.requestsPerSecond = 10
        let sessions = (1...3).map { add(SessionID($0)).0 }
        _ = signIn(sessions[0], as: "ann")
        _ = signIn(sessions[1], as: "ann")
        #expect(sessions[0].rate.budget === sessions[1].rate.budget)
        // Two were charged for coming in, of twenty.
        #expect(sessions[0].rate.budget?.requests.take(18, at: Self.now) == nil)
        #expect(sessions[0].rate.budget?.requests.take(1, at: Self.now) == 100)
        for session in sessions.prefix(2) { registry.signOut(session) }
        registry.dropFullBudgets(at: Self.now.adding(1900))
        _ = signIn(sessions[2], as: "ann")
        #expect(sessions[2].rate.budget === sessions[0].rate.budget)
        registry.signOut(sessions[2])
        registry.dropFullBudgets(at: Self.now.adding(10_000))
        _ = signIn(sessions[2], as: "ann")
        #expect(sessions[2].rate.budget !== sessions[0].rate.budget)
    }

    @Test mutating func aPauseIsSaidOnceAndEndsInTime() {
        let session = add(1).0
        registry.pause(session, 300, at: Self.now)
        registry.pause(session, 900, at: Self.now)
        #expect(registry.takeThrottles().map(\.1) == [true])
        registry.endPause(session, at: Self.now.adding(299))
        #expect(registry.takeThrottles().count == 0)
        // Answers that cost much are still under way.
        _ = session.requests.begin(1, weight: RequestsUnderWay.weightLimit)
        registry.endPause(session, at: Self.now.adding(300))
        #expect(registry.takeThrottles().count == 0)
        _ = session.requests.end(1, weight: RequestsUnderWay.weightLimit)
        registry.noteThrottle(session)
        #expect(registry.takeThrottles().map(\.1) == [false])
    }

    @Test mutating func whoIsDueIsHandedOutOnce() {
        for id in 1...3 {
            let session = add(SessionID(id)).0
            registry.schedule(session, at: Self.now.adding(Int64(id) * 1000))
            #expect(session.liveness.nextLook == Self.now.adding(Int64(id) * 1000))
        }
        registry.advance(to: Self.now.adding(2100))
        #expect(registry.isBehind)
        #expect(Array(registry.takeDue(1)) == [1] && Array(registry.takeDue(8)) == [2])
        #expect(Array(registry.takeDue(8)) == [] && !registry.isBehind)
    }

    @Test mutating func aTokenEndsByTheTimeOfDay() {
        let session = add(1).0
        #expect(registry.tokenEnd(of: session) == nil)
        session.credentials.deadline = Self.now.adding(5000)
        let (isNews, isAgain) = (
            registry.adopt(timeOfDayAhead: 2000), registry.adopt(timeOfDayAhead: 2000)
        )
        #expect(isNews && !isAgain)
        #expect(registry.tokenEnd(of: session) == Self.now.adding(3000))
    }

    @Test mutating func closesAreHandedOutOnceInOrder() {
        let (one, two) = (add(1).0, add(2).0)
        registry.close(two, .draining)
        registry.close(one, .noPong)
        #expect(registry.takeCloses().map(\.0) == [2, 1])
        #expect(registry.takeCloses().count == 0)
    }
}
