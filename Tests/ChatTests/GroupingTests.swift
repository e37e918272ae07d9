import Chat
import Foundation
import TestSupport
import Testing

/// Rows against the vectors that the JavaScript client passes too; `TimelinePropertyTests` shows
/// that rows which follow a timeline are those that are made anew.
@Suite struct GroupingTests {
    static let vectors = TimelineVector.cases(of: "grouping")

    static let category: Grouping.Category = { $0.isDeleted ? "deleted" : $0.body }

    @Test func theVectorsAreThere() { #expect(Self.vectors.count >= 16) }

    @Test(arguments: vectors) func hasTheRowsThatTheVectorSays(_ vector: TimelineVector) {
        var timeline = Timeline(
            conversation: "c", reader: vector.value["reader"].string)
        var grown = Grouping(of: timeline, by: Self.category)
        for step in vector.value["steps"].array ?? [] {
            grown.apply(vector.step(step, &timeline), of: timeline)
        }
        var rebuilt = Grouping(of: timeline, by: Self.category)
        for id in (vector.value["reveal"].array ?? []).compactMap(\.string) {
            grown.reveal(row: grown.row(of: id) ?? -1)
            rebuilt.reveal(row: rebuilt.row(of: id) ?? -1)
        }
        for id in (vector.value["hide"].array ?? []).compactMap(\.string) {
            grown.hide(row: grown.row(of: id) ?? -1)
            rebuilt.hide(row: rebuilt.row(of: id) ?? -1)
        }
        expect(grown, timeline, vector.value, "at first")
        expect(rebuilt, timeline, vector.value, "made anew")
        for (at, step) in (vector.value["then"].array ?? []).enumerated() {
            grown.apply(vector.step(step, &timeline), of: timeline)
            expect(grown, timeline, step, "then \(at)")
        }
    }

    private func expect(
        _ grouping: Grouping, _ timeline: Timeline, _ expected: JSONValue, _ place: String
    ) {
        let rows = grouping.rows
        let ids = rows.map { row in row.items.reversed().map { timeline[$0].id } }
        let found: [String: JSONValue] = [
            "rows": .array(ids.map { .array($0.map(JSONValue.string)) }),
            "revealed": .array(rows.filter(\.isRevealed).map { .string($0.id) }),
            "runs": .array(
                grouping.runs.map { run in
                    [
                        .string(run.id), .int(run.rows.lowerBound),
                        .int(run.rows.upperBound - 1),
                    ]
                }),
            "unreadBefore": .array(rows.indices.map { .int(grouping.unreadBefore(row: $0)) }),
        ]
        for (key, value) in found where expected[key] != .null {
            #expect(value == expected[key], "\(key) \(place)")
        }
        for (at, row) in ids.enumerated() {
            #expect(grouping[at] == rows[at], "\(place)")
            for id in row { #expect(grouping.row(of: id) == at, "\(place)") }
        }
    }

    /// What one live message, one edit and one deletion in the midst cost, timeline and rows, with
    /// growing lists: printed on demand, since a time is no claim.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["MEASURE"] != nil))
    func measuresWhatOneDeltaCosts() {
        for count in [1_000, 10_000, 100_000, 1_000_000] {
            var timeline = Timeline(conversation: "c", reader: "me")
            let page = Timeline.Page(
                .initial, of: "c", messages: messages(1...count), limit: count + 1)
            _ = timeline.apply(page)
            timeline.setRead(upTo: count / 2)
            let clock = ContinuousClock()
            var grouping = Grouping(of: timeline, by: Self.category)
            let rebuild = clock.measure { grouping = Grouping(of: timeline, by: Self.category) }
            let repeats = 1_000
            var rev = count
            func cost(_ delta: (Int) -> MessageDelta) -> Double {
                let deltas = (1...repeats).map(delta)
                let time = clock.measure {
                    for delta in deltas {
                        grouping.apply(timeline.apply([delta]), of: timeline)
                    }
                }
                return time / .microseconds(1) / Double(repeats)
            }
            let live = cost { .init(type: .inserted, message: .numbered(count + $0)) }
            rev = 2 * count + repeats
            let edit = cost {
                .init(
                    type: .updated,
                    message: .numbered(count / 3 + $0 % (count / 3), rev: rev + $0, body: "d"))
            }
            rev += repeats
            let deletion = cost {
                .init(
                    type: .deleted,
                    message: .numbered(count / 4 + $0 % (count / 4), rev: rev + $0))
            }
            print(
                "\(count) messages: live \(live), edit \(edit), deletion \(deletion) µs each;",
                "rebuild \(rebuild / .microseconds(1)) µs")
        }
    }
}
