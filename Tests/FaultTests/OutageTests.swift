import TestSupport
import Testing

extension Outage: LosslessOutage {
    var title: String { rawValue }
    func origin() throws -> LinkedRedis { try LinkedRedis() }
}

extension LinkedRedis: OutageOrigin {}

extension Faults {
    /// Each way in which the link to Redis can die.
    @Suite struct Outages {
        @Test(arguments: Faults.outages)
        func everybodyIsWholeOrToldThrough(_ outage: Outage) throws {
            try OutageRun.all(outage, seed: 100)
        }
    }
}
