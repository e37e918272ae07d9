import Ports
import Postgres
import TestSupport
import Testing
import Wire

@testable import Upstream

/// Who is there, as Redis and Postgres keep it, call by call: what `Sources/Ports/Presence.swift`
/// says of calls that come late, at once, and to a server that is not the one of before.
@Suite struct PresenceCallTests {
    enum Kind: String, CaseIterable { case redis, postgres }

    /// An origin that gateways ask.
    private struct Origin {
        let redis: RedisProcess?
        private let open: () throws -> any Upstream

        init(_ kind: Kind) throws {
            switch kind {
            case .redis:
                let server = try RedisProcess(keeping: .nothing)
                redis = server
                open = { Redis(try server.options()) }
            case .postgres:
                redis = nil
                let url = try PostgresProcess.sharedDatabase()
                open = { PostgresUpstream(PostgresOptions(url: url)) }
            }
        }

        func subject() throws -> Subject {
            let subject = Subject(try open())
            try subject.waitUntilOnline()
            return subject
        }
    }

    private static func call(
        _ gateway: String, _ number: Int64, _ renewal: PresenceCall.Renewal = .none,
        era: String = "", says: [PresenceSaying] = [], reads: [String] = ["bob"]
    ) -> PresenceCall {
        PresenceCall(
            gateway: gateway, number: number, era: era, renewal: renewal, says: says, reads: reads,
            lease: 60_000, grace: 60_000, retain: 3_600_000)
    }

    private static func here(
        _ user: String = "bob", isAway: Bool = false, begun: Int64 = 0
    ) -> PresenceSaying { PresenceSaying(user: user, isAway: isAway, begun: begun) }

    private static func gone(
        _ user: String = "bob", begun: Int64 = 0, lasts: Int64 = 0
    ) -> PresenceSaying {
        PresenceSaying(user: user, isAway: false, begun: begun, ended: 0, lasts: lasts)
    }

    @Test(arguments: Kind.allCases) func aCallThatWasOvertakenSaysNothing(_ kind: Kind) throws {
        let origin = try Origin(kind)
        let subject = try origin.subject()
        defer { withExtendedLifetime(origin) {} }
        let first = try subject.tell(Self.call("g1", 3, .whole, says: [Self.here()]))
        #expect(first.isRenewed)
        let late = try subject.tell(
            Self.call("g1", 2, .allSaid, era: first.era, says: [Self.gone()]))
        #expect(!late.isRenewed)
        #expect(late.users["bob".id]?.map(\.end) == [nil])
        // Sent again by the link, the call is done again.
        let again = try subject.tell(
            Self.call("g1", 3, .ifHeld, era: first.era, says: [Self.here(isAway: true)]))
        #expect(again.isRenewed)
        #expect(again.users["bob".id]?.map(\.isAway) == [true])
        let next = try subject.tell(
            Self.call("g1", 4, .ifHeld, era: first.era, says: [Self.gone()]))
        #expect(next.isRenewed)
        #expect(next.users["bob".id]?.first?.end != nil)
    }

    @Test(arguments: Kind.allCases) func whoIsStillSayingKeepsTheEraYoung(_ kind: Kind) throws {
        let origin = try Origin(kind)
        let subject = try origin.subject()
        defer { withExtendedLifetime(origin) {} }
        let first = try subject.tell(Self.call("g1", 1, .whole))
        var reading = first
        let later = Deadline.standard.poll {
            reading = (try? subject.tell(Self.call("g2", 1, says: [Self.here()]))) ?? reading
            return reading.isYoungUntil > first.isYoungUntil
        }
        #expect(later)
        // Who has renewed its lease in this era does not.
        let before = try subject.tell(Self.call("g1", 2)).isYoungUntil
        let said = try subject.tell(Self.call("g1", 3, says: [Self.here("carl")]))
        #expect(said.isYoungUntil == before)
    }

    @Test(arguments: Kind.allCases) func whoMovesStaysSinceTheyCame(_ kind: Kind) throws {
        let origin = try Origin(kind)
        let subject = try origin.subject()
        defer { withExtendedLifetime(origin) {} }
        try subject.tell(Self.call("g1", 1, .whole, says: [Self.here(begun: 50_000)]))
        try subject.tell(
            Self.call("g1", 2, says: [Self.gone(begun: 50_000, lasts: 60_000)]))
        let moved = try subject.tell(Self.call("g2", 1, .whole, says: [Self.here()]))
        let entries = try #require(moved.users["bob".id])
        let (old, new) = (
            entries.first { $0.gateway == "g1" }, entries.first { $0.gateway == "g2" }
        )
        #expect(new?.end == nil && new?.since == old?.since && old?.end != nil)
    }

    /// Two gateways have the same users, and both say all of them again and again.
    @Test(arguments: Kind.allCases) func twoGatewaysSayTheSameUsersAtOnce(_ kind: Kind) throws {
        let origin = try Origin(kind)
        let gateways = try (0..<2).map { _ in try origin.subject() }
        let users = (0..<50).map { "u\($0)" }
        for round in 1...40 {
            let tokens = gateways.enumerated().map { place, subject in
                let isGone = (round + place).isMultiple(of: 3)
                let says = users.map {
                    isGone ? Self.gone($0) : Self.here($0, isAway: round.isMultiple(of: 2))
                }
                return subject.begin(
                    Self.call("g\(place)", Int64(round), .whole, says: says, reads: users))
            }
            for (subject, token) in zip(gateways, tokens) {
                #expect(try subject.reading(token).isRenewed, "round \(round)")
            }
        }
    }

    /// The server was a replica for a while: it may lack what was said before.
    @Test func aFailoverToTheSameProcessIsAnEra() throws {
        let origin = try Origin(.redis)
        let server = try #require(origin.redis)
        let subject = try origin.subject()
        let first = try subject.tell(Self.call("g1", 1, .whole, says: [Self.here()]))
        _ = try server.ask("REPLICAOF", "127.0.0.1", "1")
        _ = try server.ask("REPLICAOF", "NO", "ONE")
        var reading: PresenceReading?
        let came = Deadline.standard.poll {
            reading = try? subject.tell(Self.call("g1", 2, .ifHeld, era: first.era))
            return reading != nil
        }
        try #require(came)
        #expect(reading?.era != first.era && reading?.isRenewed == false)
        // Once all are said, whom an earlier era had and this one does not is forgotten.
        let said = try subject.tell(Self.call("g1", 3, .allSaid, era: reading?.era ?? ""))
        #expect(said.isRenewed && said.users["bob".id]?.map(\.isForgotten) == [true])
    }
}

extension Subject {
    fileprivate func begin(_ call: PresenceCall) -> UInt64 {
        let token = outputs.token()
        upstream.submit([.presence(call, token: token)])
        return token
    }

    fileprivate func reading(_ token: UInt64) throws -> PresenceReading {
        guard case .presence(_, let result) = try outputs.wait(for: token) else {
            throw TestFailure("another kind of answer")
        }
        return try result.get()
    }

    @discardableResult
    fileprivate func tell(_ call: PresenceCall) throws -> PresenceReading {
        try reading(begin(call))
    }
}
