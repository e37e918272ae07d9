import Chat
import JSON
import enum TestSupport.JSONValue
import struct TestSupport.Vector
import enum TestSupport.Vectors
import Testing
import Wire

@testable import ClientCore

/// Pages of what is held, against the vectors that the JavaScript client passes too.
@Suite struct HeldPageTests {
    static let vectors = Vectors.cases(of: "held-page").map { Vector(value: $0) }

    @Test func theVectorsAreThere() { #expect(Self.vectors.count >= 30) }

    @Test(arguments: vectors) func answersWhatTheVectorSays(_ vector: Vector) throws {
        let value = vector.value
        let holder = holder(of: value)
        let answer = holder.page(try request(value["page"]))
        guard let seqs = value["seqs"].array?.compactMap(\.int) else {
            #expect(answer == nil)
            return
        }
        let frame = try MessagesFrame(try #require(answer))
        let covers = value["covers"].array?.compactMap(\.int) ?? []
        #expect(frame.messages.map(\.seq) == seqs)
        #expect(frame.covers == Coverage(covers[0], covers[1]))
        #expect(
            frame.hasMore
                == Timeline.HasMore(
                    before: value["hasMore"][0] == true, after: value["hasMore"][1] == true))
        #expect(frame.head == holder.head && frame.asOf == 41 && frame.gaps.isEmpty)
        let ends = frame.boundaries.map { [$0.oldest.seq, $0.newest.seq] }
        #expect(ends == [[seqs.min() ?? 0, seqs.max() ?? 0]])
    }

    private func holder(of value: JSONValue) -> Holder {
        let runs = (value["runs"].array ?? []).map { run in
            Coverage.Run(run[0].int ?? 0, run[1].int ?? 0)
        }
        let empty = value["empty"].array?.compactMap(\.int) ?? []
        let places = runs.flatMap { Array($0.low...$0.high) }.filter { !empty.contains($0) }
        let messages = places.map { seq in
            Message(
                id: "m\(seq)", conversation: "c1", seq: seq, rev: seq + 1, author: "alice",
                createdAt: Timestamp(milliseconds: 0))
        }
        let head = Head(epoch: "e1", seq: 40, rev: 41, mark: "m")
        return Holder(
            Have(head: head, asOf: 41, runs: Coverage(runs)), values: messages, record: nil,
            isDense: false)
    }

    private func request(_ page: JSONValue) throws -> PageRequest {
        func anchor(_ name: String) -> Anchor? {
            if let seq = page[name].int { return .seq(seq) }
            if let id = page[name].string { return .id(id) }
            return page[name] == .null ? nil : .time(Timestamp(milliseconds: 0))
        }
        return PageRequest(
            before: anchor("before"), after: anchor("after"), around: anchor("around"),
            limit: try #require(page["limit"].int),
            order: page["order"].string.flatMap(PageRequest.Order.init) ?? .desc)
    }
}
