import TestSupport
import Testing

extension Outage: LosslessOutage {
    var title: String { rawValue }
    func origin() throws -> LinkedRedis { try LinkedRedis() }
}

/// The same where both ways to Redis are TLS.
struct OutageOverTLS: LosslessOutage, CustomStringConvertible {
    let outage: Outage

    var description: String { "\(outage)" }
    var title: String { "TLS: \(outage.rawValue)" }
    var isMomentary: Bool { outage.isMomentary }
    var isOfTheLink: Bool { outage.isOfTheLink }
    var breaksFeeds: Bool { outage.breaksFeeds }
    var showsInReadiness: Bool { outage.showsInReadiness }
    func origin() throws -> LinkedRedis { try LinkedRedis(tls: true) }
    func begin(_ redis: LinkedRedis) throws { try outage.begin(redis) }
    func end(_ redis: LinkedRedis) throws { try outage.end(redis) }
}

extension LinkedRedis: OutageOrigin {}

extension Faults {
    /// Each way in which the link to Redis can die.
    @Suite struct Outages {
        @Test(arguments: Faults.outages)
        func everybodyIsWholeOrToldThrough(_ outage: Outage) throws {
            try OutageRun.all(outage, seed: 100)
        }

        @Test(arguments: Faults.outagesOverTLS)
        func everybodyIsWholeOrToldThroughTLS(_ outage: OutageOverTLS) throws {
            try OutageRun.all(outage, seed: 100)
        }
    }
}
