import Chat
import Testing

/// A timeline stays small while a reader walks through a long history and back.
@Suite struct TimelineWalkTests {
    private static let length = 100_000
    private static let page = 100
    /// A view of 20 messages, what is kept beside it on both sides and at the newest end, a page.
    private static let bound = 20 + 3 * Timeline.keptBeside + 100

    @Test func aWalkFromEndToStartAndBackStaysAtItsTrimmedSize() throws {
        var timeline = Timeline(conversation: "c")
        _ = timeline.apply(page(.initial, from: Self.length - Self.page + 1))
        var largest = 0
        while timeline.hasMore.before {
            let oldest = try #require(timeline[0].seq)
            let page = page(.before(.seq(oldest)), from: oldest - Self.page)
            _ = timeline.apply(page, visible: 0..<20)
            largest = max(largest, timeline.count)
        }
        #expect(timeline[0].seq == 1)
        #expect(timeline.coverage.runs.count == 2)

        // Back down, along the newer end of the run in view.
        while timeline.runs.count > 1 {
            let end = try #require(timeline.runs.first).items.upperBound
            let newest = try #require(timeline[end - 1].seq)
            let page = page(.after(.seq(newest)), from: newest + 1)
            _ = timeline.apply(page, visible: end - 20..<end)
            largest = max(largest, timeline.count)
        }
        #expect(timeline.followsEnd)
        #expect(timeline[timeline.count - 1].seq == Self.length)
        #expect(largest <= Self.bound)
        #expect(largest >= 2 * Timeline.keptBeside, "what was walked through was kept for a while")
    }

    @Test(arguments: [
        (Double.nan, 61...100), (.infinity, 61...100), (-.infinity, 1...40), (7, 61...100),
    ])
    func aFocusThatIsNoPlaceCountsAsAnEnd(_ focus: Double, _ kept: ClosedRange<Int>) {
        var timeline = Timeline(conversation: "c")
        _ = timeline.apply(
            Timeline.Page(
                .initial, of: "c", messages: messages(1...100),
                hasMore: Timeline.HasMore(before: false, after: false), covers: Coverage(1, 100)))
        _ = timeline.trim(to: 40, focus: focus)
        #expect(timeline.items.compactMap(\.seq) == Array(kept))
    }

    private func page(_ kind: Timeline.Page.Kind, from low: Int) -> Timeline.Page {
        let range = max(1, low)...min(Self.length, low + Self.page - 1)
        let more = Timeline.HasMore(
            before: range.lowerBound > 1, after: range.upperBound < Self.length)
        var page = Timeline.Page(
            kind, of: "c", messages: messages(range), hasMore: more,
            covers: Coverage(range.lowerBound, range.upperBound))
        page.head = Self.length
        return page
    }
}
