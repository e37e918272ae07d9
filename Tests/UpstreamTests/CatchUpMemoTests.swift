import Cache
import Chat
import Ports
import Testing
import Upstream
import Wire

/// What catch-ups share of what they read. That no commit is missed is shown with random writes by
/// `ReplicaCachePropertyTests`.
@Suite struct CatchUpMemoTests {
    private static func catchUp(
        _ reader: Reader, _ have: Have, limit: Int = 100
    ) throws -> CatchUp {
        let query = Query.catchUp(conversation: "c1", have: have, limit: limit, bytes: .max)
        guard case .catchUp(let read) = try reader.answer(query) else { throw Origin.Lost() }
        return read
    }

    /// Sixty messages, then twenty new ones and two edits.
    private static func origin(body: String = "x") throws -> (Origin, Head) {
        let origin = try Origin()
        _ = try origin.conversation(of: ["a"])
        for number in 1...60 { try origin.send(body, id: "m\(number)", by: "a") }
        let head = try origin.head()
        for number in 61...80 { try origin.send(body, id: "m\(number)", by: "a") }
        for id in ["m59", "m60"] {
            try origin.perform(.edit(conversation: "c1", id: id, MessageEdit(body: "y")))
        }
        return (origin, head)
    }

    @Test func holdersWithOnePositionShareARead() throws {
        let (origin, head) = try Self.origin()
        func have(_ low: Int) -> Have {
            Have(head: head, asOf: head.rev, runs: Coverage(low, 60))
        }
        let before = origin.reader.steps
        _ = try Self.catchUp(origin.reader, have(1))
        let first = origin.reader.steps - before
        for low in 2...50 {
            let before = origin.reader.steps
            let read = try Self.catchUp(origin.reader, have(low))
            let cost = origin.reader.steps - before
            #expect(cost < first / 8, "\(cost) steps, after \(first) of the first one")
            #expect(read.changed.map(\.id) == ["m60", "m59"] && read.tail.count == 20)
            #expect(read.ids[low] == "m\(low)")
            #expect(try read == Self.catchUp(origin.another(), have(low)))
        }
    }

    @Test func aCommitEndsWhatIsKept() throws {
        let (origin, head) = try Self.origin()
        let have = Have(head: head, asOf: head.rev, runs: Coverage(1, 60))
        #expect(try Self.catchUp(origin.reader, have).tail.count == 20)
        try origin.send("x", id: "m81", by: "a")
        #expect(try Self.catchUp(origin.reader, have).tail.map(\.id).first == "m81")
        try origin.perform(.edit(conversation: "c1", id: "m5", MessageEdit(body: "z")))
        #expect(try Self.catchUp(origin.reader, have).changed.map(\.id) == ["m5", "m60", "m59"])
    }

    @Test func whatIsKeptIsBounded() throws {
        let (origin, head) = try Self.origin(body: String(repeating: "x", count: 10_000))
        let have = Have(head: head, asOf: head.rev, runs: Coverage(1, 60))
        var most = 0
        for limit in 1...80 {
            _ = try Self.catchUp(origin.reader, have, limit: limit)
            most = max(most, origin.reader.keptBytes)
        }
        // Some 14 MB altogether; the last answer may go beyond the limit.
        #expect(most > 3 << 20 && most < 5 << 20, "\(most) bytes")
    }
}
