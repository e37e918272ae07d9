import Chat
import TestSupport
import Testing

/// The timeline against the vectors that the JavaScript client passes too.
@Suite struct TimelineVectorTests {
    static let vectors = TimelineVector.cases(of: "timeline")

    @Test func theVectorsAreThere() { #expect(Self.vectors.count >= 60) }

    @Test(arguments: vectors) func holdsWhatTheVectorSays(_ vector: TimelineVector) {
        var timeline = Timeline(
            conversation: "c", reader: vector.value["reader"].string)
        for (at, step) in (vector.value["steps"].array ?? []).enumerated() {
            let before = timeline
            let changes = vector.step(step, &timeline)
            expectItems(timeline, step, vector, at)
            expectRuns(timeline, step, vector, at)
            if step["changes"] != .null {
                let found = JSONValue.object(lists(changes).filter { $0.value != [] })
                #expect(found == step["changes"], "step \(at)")
            }
            #expect(carriedOut(changes, from: before, to: timeline) == ids(timeline), "step \(at)")
            if let unread = step["unread"].object {
                #expect(timeline.unread.total == unread["total"]?.int, "step \(at)")
                #expect(timeline.unread.afterView == unread["afterView"]?.int, "step \(at)")
                let beyond = unread["afterNewestLoaded"]?.int
                #expect(timeline.unread.afterNewestLoaded == beyond, "step \(at)")
            }
        }
    }

    private func ids(_ timeline: Timeline) -> [String] { timeline.items.map(\.id) }

    private func expectItems(
        _ timeline: Timeline, _ step: JSONValue, _ vector: TimelineVector, _ at: Int
    ) {
        if step["items"] != .null {
            let expected = vector.messages(step["items"]).map(\.id)
            #expect(ids(timeline) == expected, "step \(at)")
        }
        if let expected = step["ids"].array {
            #expect(ids(timeline) == expected.compactMap(\.string), "step \(at)")
        }
        if let expected = step["held"].array {
            let held = (0..<timeline.count).filter { timeline.isHeld(at: $0) }
            #expect(held.map { timeline[$0].seq } == expected.map(\.int), "step \(at)")
        }
        for (id, rev) in step["revs"].object ?? [:] {
            let index = timeline.index(of: id)
            #expect(index.flatMap { timeline[$0].rev } == rev.int, "step \(at)")
        }
    }

    private func expectRuns(
        _ timeline: Timeline, _ step: JSONValue, _ vector: TimelineVector, _ at: Int
    ) {
        if step["covered"] != .null {
            let expected = TimelineVector.coverage(step["covered"])
            #expect(timeline.coverage == expected, "step \(at)")
            #expect(timeline.runs.map(\.places) == expected.runs, "step \(at)")
        }
        if step["gaps"] != .null {
            let gaps = timeline.gaps.map { gap -> JSONValue in
                [.int(gap.places.low), .int(gap.places.high)]
            }
            #expect(JSONValue.array(gaps) == step["gaps"], "step \(at)")
        }
        if let more = step["hasMore"].object {
            #expect(timeline.hasMore.before == more["before"]?.bool, "step \(at)")
            #expect(timeline.hasMore.after == more["after"]?.bool, "step \(at)")
        }
        if let follows = step["follows"].bool { #expect(timeline.followsEnd == follows) }
    }

    private func lists(_ changes: Timeline.Changes) -> [String: JSONValue] {
        [
            "inserted": .array(changes.inserted.map { .int($0.index) }),
            "deleted": .array(changes.deleted.map { .int($0.index) }),
            "moved": .array(changes.moved.map { [.int($0.from), .int($0.to)] }),
            "updated": .array(changes.updated.map { .int($0.index) }),
        ]
    }
}

/// The ids that a view shows which carries out `changes`, as lists of rows do.
func carriedOut(
    _ changes: Timeline.Changes, from old: Timeline, to new: Timeline
) -> [String] {
    let leaving = Set(changes.deleted.map(\.index) + changes.moved.map(\.from))
    var ids = old.items.enumerated().filter { !leaving.contains($0.offset) }.map(\.element.id)
    let coming = changes.inserted.map { ($0.id, $0.index) } + changes.moved.map { ($0.id, $0.to) }
    for (id, index) in coming.sorted(by: { $0.1 < $1.1 }) {
        guard index <= ids.count else { return [] }
        ids.insert(id, at: index)
    }
    return ids
}
