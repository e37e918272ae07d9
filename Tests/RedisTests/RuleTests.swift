import Ports
import RuleCases
import Rules
import TestSupport
import Testing
import Wire

@testable import Upstream

/// The table of `RuleCases`, asked of Redis.
@Suite struct RuleTests {
    private let server: RedisProcess

    init() throws { server = try RedisProcess(keeping: .nothing) }

    @Test func redisKeepsTheRulesOfALog() throws {
        for (number, rule) in RuleCase.all.enumerated() {
            let redis = Redis(try server.options { $0.prefix = "r\(number):" })
            let subject = Subject(redis)
            try subject.waitUntilOnline()
            #expect(rule.faults(of: subject) == [])
        }
    }
}

extension Subject: RuledLog {
    func result(of operation: Operation, by caller: Caller) -> Result<Outcome, RequestError> {
        do {
            return .success(try perform(operation, by: caller))
        } catch {
            return .failure(error as? RequestError ?? .originUnavailable)
        }
    }

    func adopt(_ limits: LogLimits) { upstream.adopt(limits) }
}
