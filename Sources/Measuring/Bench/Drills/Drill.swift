import Glibc
import JSON

/// A drill: something that happens to every gateway one day, done to this one on purpose, with
/// clients that check each frame. It judges itself: `DrillReport` says whether all criteria hold.
package struct Drill: Sendable {
    /// How large it is, in one respect.
    package struct Scale: Sendable {
        package let name: String
        package let value: Int
        let range: ClosedRange<Int>
        package let help: String
    }

    /// What a drill is held with: its scale, and whom it tells how far it is.
    struct Plan: Sendable {
        let values: [String: Int]
        let say: @Sendable (String) -> Void

        subscript(_ name: String) -> Int { values[name] ?? 0 }

        /// A moment so many milliseconds long.
        func milliseconds(_ name: String) -> Nanoseconds { self[name] * Clock.millisecond }
    }

    package let name: String
    package let summary: String
    package let scale: [Scale]
    /// Whether it ends the gateway, and so must have started it.
    var restarts = false
    /// Whether it judges a client that somebody else wrote, which must be named.
    var judges = false
    let run: @Sendable (Site, Plan, inout DrillReport) throws(BenchError) -> Void

    package static let all: [Drill] = [
        jitter, avalanche, drain, slow, storm, fanout, flood, worst, client,
    ]

    /// Holds the drill.
    /// - Parameters:
    ///   - values: of its scale, where they are not as the drill has them.
    ///   - say: told how far it is, a line at a time.
    /// - Throws: `BenchError`, `usage` for a value that is not accepted.
    package func hold(
        at site: Site, _ values: [String: Int], say: @escaping @Sendable (String) -> Void
    ) throws(BenchError) -> DrillReport {
        var all: [String: Int] = [:]
        for one in scale { all[one.name] = one.value }
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let one = scale.first(where: { $0.name == name }) else {
                throw .usage("\(self.name) has no --\(name)")
            }
            guard one.range.contains(value) else {
                let (low, high) = (one.range.lowerBound, one.range.upperBound)
                throw .usage("--\(name): \(value) is not accepted (\(low) to \(high))")
            }
            all[name] = value
        }
        if restarts, !site.isOwned {
            throw .usage("\(name) ends the gateway: --gateway must say how to start it")
        }
        if judges == site.client.isEmpty {
            throw .usage(
                judges
                    ? "\(name) needs --client, the command that starts the client under test"
                    : "\(name) takes no --client")
        }
        Interruption.prepare()
        Machine.raiseDescriptorLimit()
        try site.open()
        var report = DrillReport(name, scale: scale.map { ($0.name, all[$0.name] ?? 0) })
        try run(site, Plan(values: all, say: say), &report)
        return report
    }
}

extension Crowd {
    /// Makes the rooms of a drill with what they hold, and the clients, nobody connected yet.
    /// - Parameters:
    ///   - members: by client, its rooms.
    ///   - held: messages that each room has from the start.
    /// - Throws: `BenchError`
    static func gather(
        at site: Site, rooms count: Int, members: [[Int]], held: Int, body: Int
    ) throws(BenchError) -> Crowd {
        let prefix = "drill-\(UInt32.random(in: 0...UInt32.max))-"
        var people = [[String]](repeating: ["author"], count: count)
        for (index, rooms) in members.enumerated() {
            for room in rooms { people[room].append("user-\(index)") }
        }
        let api = try site.api()
        var rooms: [Room] = []
        for (index, participants) in people.enumerated() {
            let name = prefix + String(index)
            try api.create(name, participants: participants)
            let head = try api.head(of: name)
            let room = Room(index: index, name: name, base: head.object?["rev"]?.int ?? 0)
            rooms.append(room)
            try api.post(held, to: room)
        }
        let crowd = try Crowd(site, rooms, prefix: prefix, body: body)
        for rooms in members { crowd.add(rooms: rooms) }
        return crowd
    }

    /// Takes the rooms away again.
    func leave(_ site: Site) throws(BenchError) {
        let api = try site.api()
        for room in rooms { try api.delete(room.name) }
    }
}

extension ServerAPI {
    /// Writes so many messages into the room, and notes them there.
    /// - Throws: `BenchError.failure`
    func post(_ count: Int, to room: Room) throws(BenchError) {
        var left = count
        while left > 0 {
            let now = Clock.now()
            let ids = (0..<min(left, 500)).map { _ in Room.id(of: room.insert(due: now)) }
            try post(ids: ids, to: room.name, body: "held from the start, forty bytes of text")
            left -= ids.count
        }
    }
}

/// How much of its core the driver's thread uses; begins to count at its making.
struct BusyMeter {
    private let start = Clock.now()
    private let cpu = Machine.threadCPUSeconds()

    func read() -> Double {
        (Machine.threadCPUSeconds() - cpu) / max(1e-9, Clock.seconds(Clock.now() - start))
    }
}
