import Chat
import JSON
import Ports
import Testing
import Wire

/// What a feed that only rings tells of a record that does not say who takes part.
@Suite struct ChangeChainTests {
    private static func head(_ rev: Int) -> Head {
        Head(epoch: "e", seq: 0, rev: rev, mark: "m\(rev)", floor: 1)
    }

    /// A record as of a change, of so many people, of whom it names none.
    private static func record(_ rev: Int, of count: Int) -> Record {
        var record = Record(
            id: "c", title: "t", participants: [], admins: ["a"], metadata: .emptyObject,
            createdAt: Timestamp(milliseconds: 0), updatedAt: Timestamp(milliseconds: 0), rev: rev,
            unknown: [])
        record.unnamed = count
        return record
    }

    /// Changes of the record from rev 6 on: who joined, who is out.
    private static func chain(
        _ changes: [(joined: [String], gone: [String])?], to newest: Int, of count: Int
    ) -> ChangeChain {
        let end = 5 + changes.count
        var chain = ChangeChain(head: head(max(end, newest)), more: newest > end)
        chain.record = record(newest, of: count)
        for (place, members) in changes.enumerated() {
            var step = ChangeChain.Step(rev: 6 + place, seq: 0, mark: "m\(6 + place)")
            step.members = members
            chain.steps.append(step)
        }
        return chain
    }

    private static func told(_ chain: ChangeChain) -> [(joined: [String], gone: [String])]? {
        guard case .part(let events, _) = chain.told(of: "c", after: head(5)) else { return nil }
        return events.compactMap { event in
            guard case .record(_, _, let removed, let joined, _, _) = event else { return nil }
            return (joined, removed)
        }
    }

    @Test("tells with the first change who came and went with all of them")
    func together() throws {
        let told = try #require(
            Self.told(
                Self.chain(
                    [(["x", "y"], ["b"]), (["z"], []), ([], ["y", "d"]), (["y", "b"], [])], to: 9,
                    of: 200)))
        #expect(told.count == 4)
        #expect(told[0].joined == ["x", "z", "y", "b"] && told[0].gone == ["b", "d"])
        #expect(told.dropFirst().allSatisfy { $0.joined.isEmpty && $0.gone.isEmpty })
    }

    @Test("tells of somebody who is out and joins anew with one change")
    func anew() throws {
        let told = try #require(Self.told(Self.chain([(["b"], ["b"])], to: 6, of: 200)))
        #expect(told[0].joined == ["b"] && told[0].gone == ["b"])
    }

    @Test("has all of it read where the record is of a change behind these, or nobody knows who")
    func unknown() {
        #expect(Self.told(Self.chain([(["x"], [])], to: 7, of: 200)) == nil)
        #expect(Self.told(Self.chain([(["x"], []), nil], to: 7, of: 200)) == nil)
        var named = Self.chain([nil], to: 6, of: 0)
        named.record?.participants = ["a", "b"]
        #expect(Self.told(named)?.count == 1)
    }

    @Test("has all of it read where a record that names everybody is of a change behind these")
    func ahead() {
        var named = Self.chain([nil], to: 7, of: 0)
        named.record?.participants = ["a", "b"]
        #expect(Self.told(named) == nil)
    }
}
