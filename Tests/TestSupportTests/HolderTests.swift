import TestSupport
import Testing

/// The holder of the tests against the vectors that every client of the project passes.
@Suite struct HolderTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let name: String
        let steps: [JSONValue]
        var testDescription: String { name }
    }

    static let vectors = Vectors.cases(of: "holder").map {
        Vector(name: $0["name"].string ?? "", steps: $0["steps"].array ?? [])
    }

    @Test func theVectorsAreThere() { #expect(Self.vectors.count >= 25) }

    @Test(arguments: vectors) func holdsWhatTheVectorSays(_ vector: Vector) throws {
        var session = ClientSession()
        for (index, step) in vector.steps.enumerated() {
            let request = step["request"]
            if let id = request["id"].int, let method = request["method"].string {
                session.sent(id: id, method: method, params: request["params"])
            }
            if step["lost"] == true {
                session.disconnected()
            } else {
                // A late event of an ended subscription is a fault of the gateway, which the
                // vectors have a client ignore and this holder reports.
                _ = try? session.received(step["frame"])
            }
            let holder = session.holders["c1"] ?? Holder()
            #expect((holder.have ?? .null) == step["have"], "step \(index)")
            let held = Dictionary(
                uniqueKeysWithValues: holder.held.map { (String($0.key), $0.value["rev"]) })
            #expect(held == step["held"].object ?? [:], "step \(index)")
            if let expected = step.object?["record"] {
                #expect((holder.record?["rev"] ?? .null) == expected, "step \(index)")
            }
        }
    }

    @Test func reportsAnEventWithoutASubscription() {
        var holder = Holder()
        let event: JSONValue = [
            "event": "gap", "conversation": "c1", "gaps": [], "prev": 1, "asOf": 1,
            "head": ["epoch": "e", "seq": 1, "rev": 1, "mark": "m", "floor": 1],
        ]
        #expect(throws: TestFailure.self) { try holder.apply(.event(event)) }
    }
}
