import Ports
import RuleCases
import Rules
import TestSupport
import Testing
import Wire

@testable import Upstream

/// The table of `RuleCases`, asked of the servers.
@Suite struct RuleTests {
    @Test func redisKeepsTheRulesOfALog() throws {
        let server = try RedisProcess(keeping: .nothing)
        for (number, rule) in RuleCase.all.enumerated() {
            let redis = Redis(try server.options { $0.prefix = "r\(number):" })
            let subject = Subject(redis)
            try subject.waitUntilOnline()
            try subject.enable()
            #expect(rule.faults(of: subject) == [])
        }
    }

    @Test func postgresKeepsTheRulesOfALog() throws {
        for rule in RuleCase.all {
            let options = PostgresOptions(url: try PostgresProcess.sharedDatabase())
            let subject = Subject(PostgresUpstream(options))
            try subject.waitUntilOnline()
            try subject.enable()
            #expect(rule.faults(of: subject) == [])
        }
    }
}

extension Subject: RuledLog {
    func adopt(_ limits: LogLimits) { upstream.adopt(limits) }
}
