import Testing

@testable import Upstream

/// Which master counts, by what the nodes say; and where a name belongs.
@Suite struct ClusterMapTests {
    private typealias Address = RedisOptions.Address

    private let now = ContinuousClock.now
    private let lease = Duration.seconds(2)
    private let nodes = (1...4).map { Address(host: "10.0.0.\($0)", port: 7000) }

    private func view(_ epoch: Int, _ slots: [Int: String]) throws -> ClusterView {
        let lines = slots.map { node, slots in
            "id\(node) 10.0.0.\(node):7000@17000 master - 0 0 \(epoch) connected \(slots)"
        }
        return try #require(
            ClusterView(lines.joined(separator: "\n") + "\n", from: nodes[0]))
    }

    private func vote(_ view: ClusterView, ago: Duration = .zero) -> ClusterMap.Vote {
        ClusterMap.Vote(view: view, askedAt: now - ago)
    }

    @Test func aViewIsReadWithAllThatMayStandInIt() throws {
        let text = """
            a :7001@17001,here myself,master - 0 0 3 connected 0-99 200 [300->-b]
            b 10.0.0.2:7000@17000 master,fail? - 1 1 4 connected 100-199
            c 10.0.0.3:7000@17000 slave a 0 1 3 connected
            d :0@0 master,noaddr - 1 1 9 disconnected 201
            e ::1:7000@17000 master - 1 1 2 connected
            f 10.0.0.6:7000@17000 master,fail - 1 1 2 disconnected
            """
        let asked = Address(host: "host", port: 7001)
        let view = try #require(ClusterView(text, from: asked))
        #expect(view.epoch == 4)
        #expect(
            view.masters == [
                asked: [0...99, 200...200], nodes[1]: [100...199],
                Address(host: "::1", port: 7000): [],
            ])
        #expect(ClusterView("ERR", from: asked) == nil)
    }

    @Test func aMasterCountsFromWhenTheMajorityWasAsked() throws {
        let view = try view(1, [1: "0-5460", 2: "5461-10922", 3: "10923-16383"])
        let votes = [
            nodes[0]: vote(view, ago: .milliseconds(100)),
            nodes[1]: vote(view, ago: .milliseconds(700)),
        ]
        let (map, leases) = ClusterMap.counted(votes, lease: lease)
        #expect(map.isWhole && map.owner(of: 6000) == nodes[1])
        #expect(map.lastSlot(of: nodes[0]) == 5460)
        #expect(leases[nodes[2]] == now - .milliseconds(700) + lease)
        let alone = ClusterMap.counted([nodes[0]: vote(view)], lease: lease)
        #expect(alone.leases.isEmpty && alone.map == ClusterMap())
    }

    @Test func whoWasReplacedDoesNotCountThoughItSaysSo() throws {
        let before = try view(1, [1: "0-5460", 2: "5461-10922", 3: "10923-16383"])
        let after = try view(2, [4: "0-5460", 2: "5461-10922", 3: "10923-16383"])
        let (map, leases) = ClusterMap.counted(
            [nodes[0]: vote(before), nodes[1]: vote(after), nodes[2]: vote(after)], lease: lease)
        #expect(map.owner(of: 0) == nodes[3] && map.isWhole)
        #expect(leases[nodes[0]] == nil && leases[nodes[3]] != nil)
    }

    @Test func aSlotOfWhichNoMajoritySaysTheSameIsNobodys() throws {
        let before = try view(1, [1: "0-5460", 2: "5461-10922", 3: "10923-16383"])
        let after = try view(2, [1: "1-5460", 2: "0 5461-10922", 3: "10923-16383"])
        let split = ClusterMap.counted(
            [nodes[0]: vote(before), nodes[1]: vote(after)], lease: lease)
        #expect(split.map.owner(of: 0) == nil && split.map.owner(of: 1) == nodes[0])
        #expect(split.leases.count == 3 && !split.map.isWhole)
        let decided = ClusterMap.counted(
            [nodes[0]: vote(before), nodes[1]: vote(after), nodes[2]: vote(after)], lease: lease)
        #expect(decided.map.owner(of: 0) == nodes[1] && decided.map.isWhole)
    }

    @Test func aNameBelongsToTheSlotThatItsBracesSay() {
        func slot(_ name: String) -> Int { HashSlot.of(Array(name.utf8)) }
        #expect(slot("123456789") == 0x31C3 % HashSlot.count)
        #expect(slot("a{user}b") == slot("user"))
        #expect(slot("a{}user") != slot("user") && slot("{user") != slot("user"))
        #expect(slot("{\(HashSlot.tag(for: 12_345))}") == 12_345)
    }
}
