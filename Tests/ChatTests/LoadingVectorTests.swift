import Chat
import Testing

import enum TestSupport.JSONValue
import struct TestSupport.Vector
import enum TestSupport.Vectors

/// The rule for loading against the vectors that the JavaScript client passes too.
@Suite struct LoadingVectorTests {
    static let vectors = Vectors.cases(of: "loading").map { Vector(value: $0) }

    @Test func theVectorsAreThere() { #expect(Self.vectors.count >= 40) }

    @Test(arguments: vectors) func asksForWhatTheVectorSays(_ vector: Vector) throws {
        let value = vector.value
        var known = KnownPlaces(
            runs: coverage(value["runs"]), floor: value["floor"].int ?? 1,
            head: value["head"].int ?? 400, closed: coverage(value["closed"]))
        for (at, step) in (value["steps"].array ?? []).enumerated() {
            let load = nextLoad(for: try want(step["want"]), in: known)
            #expect(load == expected(step["ask"]), "step \(at)")
            known.floor = step["floor"].int ?? known.floor
            known.head = step["head"].int ?? known.head
            var lost = coverage(step["gaps"])
            if known.floor > 1 { lost.insert(0, known.floor - 1) }
            known.runs = known.runs.union(coverage(step["covers"])).subtracting(lost)
            if step["runs"] != .null {
                #expect(known.runs == coverage(step["runs"]), "step \(at)")
            }
        }
    }

    private func coverage(_ value: JSONValue) -> Coverage {
        Coverage((value.array ?? []).map { Coverage.Run($0[0].int ?? 0, $0[1].int ?? 0) })
    }

    private func want(_ value: JSONValue) throws -> LoadWant {
        if let seq = value["banner"].int { return .banner(seq) }
        if let seq = value["jump"].int { return .jump(seq) }
        let object = try #require(value.object)
        let name = object.keys.first ?? ""
        let rows = value[name].array.map { ($0[0].int ?? 0)...($0[1].int ?? 0) }
        return name == "up" ? .up(rows) : .down(rows)
    }

    private func expected(_ value: JSONValue) -> Load? {
        guard value != .null else { return nil }
        return Load(
            before: value["before"].int, after: value["after"].int, around: value["around"].int,
            order: value["order"] == "asc" ? .asc : .desc)
    }
}
