import Ports
import JSON
import RuleCases
import Rules
import Testing
import Upstream
import Wire

/// The rules of a log, one table for every origin. `RedisTests` asks Redis the same.
@Suite struct RuleTests {
    @Test(arguments: RuleCase.all)
    func theEmbeddedLogKeeps(rule: RuleCase) throws {
        #expect(try rule.faults(of: Origin()) == [])
    }

    @Test(arguments: RuleCase.all)
    func theModelKeeps(rule: RuleCase) {
        #expect(rule.faults(of: ModelOrigin()) == [])
    }

    /// A frame holds thousands of short fields; comparing each with each took the one writer
    /// seconds, and everybody waited.
    @Test func mergingManyFieldsTakesTimeByTheirNumber() {
        let count = 30_000
        let old = (0..<count).map { JSONMember(key: "old\($0)", value: .true) }
        let new = (0..<count).map { JSONMember(key: "new\($0)", value: .true) }
        let start = ContinuousClock.now
        let merged = old.merged(with: new)
        #expect(merged.isSame(as: new.merged(with: old)))
        // With each compared to each this takes minutes.
        #expect(start.duration(to: .now) < .seconds(20))
        #expect(merged.count == 2 * count)
    }

    @Test(
        arguments: [
            (nil, true), ("alice:1", true), ("alice:x y", true), ("alice:", false),
            ("alice", false), ("alice:1:2", false), ("bob:1", false), ("alicia:1", false),
            ("", false), (":1", false), ("Alice:1", false),
        ] as [(String?, Bool)])
    func ownIdsBeginWithTheUsersNameAndAColon(id: String?, isAllowed: Bool) {
        var policy = ClientPolicy()
        #expect(policy.refusal(ofCreating: id, by: "alice") == nil)
        policy.create = .own
        let refusal = policy.refusal(ofCreating: id, by: "alice")
        #expect((refusal == nil) == isAllowed)
        #expect(refusal == nil || refusal?.code == .forbidden)
        policy.create = .no
        #expect(policy.refusal(ofCreating: id, by: "alice")?.code == .forbidden)
    }

    /// Otherwise "a" could take what belongs to "a:b".
    @Test func anOwnIdIsNobodyElsesToo() {
        var policy = ClientPolicy()
        policy.create = .own
        #expect(policy.refusal(ofCreating: "a:b:1", by: "a:b") == nil)
        #expect(policy.refusal(ofCreating: "a:b:1", by: "a") != nil)
    }

    @Test func aNameIsComparedByItsBytes() {
        let composed = JSONMember(key: "\u{E9}", value: .true)
        let combined = JSONMember(key: "e\u{301}", value: .false)
        let merged = [composed].merged(with: [combined])
        #expect(merged.map { Array($0.key.utf8) } == [[0xC3, 0xA9], [0x65, 0xCC, 0x81]])
        #expect(!merged.isSame(as: [composed, composed]))
    }
}

extension Origin: RuledLog {
    func adopt(_ limits: LogLimits) { embedded.adopt(limits) }
}
