@testable import Chat
import TestSupport
import Testing

/// A timeline and its rows against the truth, through random pages, deltas, losses, late replies,
/// trimming and resets.
@Suite struct TimelinePropertyTests {
    private static let categories: Grouping.Category = { message in
        message.isDeleted ? "deleted" : message.body == "event" ? "event" : nil
    }

    private struct World {
        let seed: UInt64
        var random: SplitMix64
        var origin: TimelineOrigin
        var timeline: Timeline
        var grouping: Grouping
        var revealed: Set<String> = []
        var late: [Timeline.Page] = []
        var isFed = true

        init(seed: UInt64) {
            self.seed = seed
            random = SplitMix64(seed: seed)
            let count = Int.random(in: 0...14, using: &random)
            origin = TimelineOrigin(count: count, &random)
            timeline = Timeline(conversation: "c", reader: "me")
            timeline.setRead(upTo: Int.random(in: 0...8, using: &random))
            grouping = Grouping(of: timeline, by: categories)
        }

        mutating func chance(_ part: Int) -> Bool { Int.random(in: 0..<part, using: &random) == 0 }
    }

    @Test func anyInterleavingGivesTheTruthCutToTheCoverage() throws {
        for seed in UInt64(1)...6_800 {
            var world = World(seed: seed)
            for _ in 0..<8 {
                let before = world.timeline
                let changes = Self.step(&world)
                world.grouping.apply(changes, of: world.timeline)
                let ids = world.timeline.items.map(\.id)
                try Self.claim(carriedOut(changes, from: before, to: world.timeline) == ids, world)
                try Self.requireTruth(world)
            }
            if seed.isMultiple(of: 4) { try Self.requireRows(&world) }
        }
    }

    /// As `#require`, which takes longer than all that is tested here: there are millions of these.
    private static func claim(
        _ holds: Bool, _ world: World, line: Int = #line
    ) throws {
        if !holds { throw TestFailure("seed \(world.seed): does not hold in line \(line)") }
    }

    // MARK: Steps

    private static func step(_ world: inout World) -> Timeline.Changes {
        guard world.timeline.isLoaded else {
            // A change before the first page, now and then.
            return world.chance(6) ? live(&world) : page(.initial, &world)
        }
        switch Int.random(in: 0..<14, using: &world.random) {
        case 0: return page(.initial, &world)
        case 1: return page(.latest, &world)
        case 2: return page(.around, &world)
        case 3, 4: return anchor(&world).map { page(.before($0), &world) } ?? .init()
        case 5, 6: return anchor(&world).map { page(.after($0), &world) } ?? .init()
        case 7, 8: return live(&world)
        case 9, 10: return change(&world)
        case 11: return interrupt(&world)
        case 12:
            guard !world.late.isEmpty else { return .init() }
            let at = Int.random(in: 0..<world.late.count, using: &world.random)
            return world.timeline.apply(world.late.remove(at: at))
        default:
            if world.chance(8) { return world.timeline.reset() }
            let count = Int.random(in: 0...12, using: &world.random)
            let focus = Double(Int.random(in: 0...4, using: &world.random)) / 4
            return world.timeline.trim(to: count, focus: focus)
        }
    }

    private static func page(
        _ kind: Timeline.Page.Kind, _ world: inout World
    ) -> Timeline.Changes {
        let limit = Int.random(in: 1...5, using: &world.random)
        guard var page = world.origin.page(kind, limit: limit, &world.random) else {
            return .init()
        }
        page.generation = world.timeline.generation
        page.isCached = world.chance(8)
        if world.chance(4) {
            world.late.append(page)
            return .init()
        }
        let count = world.timeline.count
        let low = Int.random(in: 0...count, using: &world.random)
        return world.timeline.apply(page, visible: world.chance(2) ? low..<count : nil)
    }

    private static func anchor(_ world: inout World) -> Timeline.Page.Anchor? {
        guard world.timeline.count > 0 else { return nil }
        let at = Int.random(in: 0..<world.timeline.count, using: &world.random)
        let message = world.timeline[at]
        guard let seq = message.seq, world.chance(2) else { return .id(message.id) }
        return .seq(seq)
    }

    private static func live(_ world: inout World) -> Timeline.Changes {
        let (delta, covers) = world.origin.append(&world.random)
        guard world.isFed else {
            world.origin.isChained = false
            return .init()
        }
        world.origin.isChained = true
        let head = world.origin.head
        return world.timeline.apply([delta], covers: covers, head: head, asOf: world.origin.rev)
    }

    private static func change(_ world: inout World) -> Timeline.Changes {
        guard let delta = world.origin.change(&world.random) else { return .init() }
        let rev = world.origin.rev
        guard let seq = delta.message.seq else { return world.timeline.apply([delta]) }
        if world.isFed {
            return world.timeline.apply([delta], covers: [[seq, seq]], asOf: rev)
        }
        let gap = Coverage(max(1, seq - 1), seq + Int.random(in: 0...2, using: &world.random))
        return world.timeline.apply([], gaps: gap, asOf: rev)
    }

    private static func interrupt(_ world: inout World) -> Timeline.Changes {
        world.isFed.toggle()
        return .init()
    }

    // MARK: The truth

    private static func requireTruth(_ world: World) throws {
        let timeline = world.timeline
        let items = timeline.items
        let held = items.indices.filter { timeline.isHeld(at: $0) }.map { items[$0] }
        let truth = world.origin.messages
        let covered = truth.filter { timeline.coverage.contains($0.seq ?? 0) }
        try claim(held == covered, world)
        let last = timeline.coverage.last ?? 0
        if timeline.isLoaded, !timeline.hasMore.after, world.isFed, world.origin.isChained {
            try claim(last >= world.origin.head, world)
        }
        try requireUnread(world)
        let holes = Coverage(timeline.gaps.map(\.places))
        try claim(holes.intersection(timeline.coverage).isEmpty, world)
        try claim(holes.contains(timeline.coverage.holes), world)
        if timeline.isLoaded, !timeline.hasMore.before, let oldest = truth.first {
            let place = Place(oldest)
            try claim(timeline.coverage.first ?? 0 <= place.number, world)
        }
    }

    /// Where all that may be unread is held, its number is right whatever happened before.
    private static func requireUnread(_ world: World) throws {
        let timeline = world.timeline
        guard let read = timeline.counter.lastRead, timeline.isLoaded, timeline.followsEnd,
            timeline.touchesEnd, world.isFed, world.origin.isChained
        else { return }
        guard timeline.coverage.contains(read + 1, world.origin.head) else { return }
        let unread = world.origin.messages.count {
            ($0.seq ?? 0) > read && $0.author != "me" && !$0.isDeleted
        }
        try claim(timeline.unread.total == unread, world)
        try claim(timeline.unread.afterNewestLoaded == 0, world)
    }

    // MARK: Rows

    private static func requireRows(_ world: inout World) throws {
        let rebuilt = Grouping(of: world.timeline, by: categories)
        try requireSame(world.grouping, rebuilt, world)
        // Revealed and hidden at random, and compared again after another step.
        var revealed: Set<String> = []
        for _ in 0..<4 where world.grouping.count > 0 {
            let row = Int.random(in: 0..<world.grouping.count, using: &world.random)
            let items = world.grouping[row].items
            if world.chance(3) {
                let before = world.grouping.rows
                world.grouping.hide(row: row)
                let after = Set(world.grouping.rows.filter(\.isRevealed).map(\.id))
                for gone in before where gone.isRevealed && !after.contains(gone.id) {
                    revealed.remove(gone.id)
                }
            } else {
                if world.grouping[row].category != nil {
                    revealed.formUnion(items.map { world.timeline[$0].id })
                }
                world.grouping.reveal(row: row)
            }
            let changes = step(&world)
            world.grouping.apply(changes, of: world.timeline)
            for item in changes.deleted { revealed.remove(item.id) }
            let rebuilt = Grouping(of: world.timeline, by: categories, revealing: revealed)
            try requireSame(world.grouping, rebuilt, world)
        }
    }

    private static func requireSame(
        _ grouping: Grouping, _ rebuilt: Grouping, _ world: World
    ) throws {
        let rows = rebuilt.rows
        try claim(grouping.rows == rows, world)
        try claim(grouping.runs == rebuilt.runs, world)
        try claim(grouping.count == rows.count, world)
        for (at, row) in rows.enumerated() {
            try claim(grouping[at] == row, world)
            let unread = grouping.unreadBefore(row: at)
            try claim(unread == rebuilt.unreadBefore(row: at), world)
            for index in row.items {
                try claim(grouping.row(of: world.timeline[index].id) == at, world)
            }
        }
    }
}
