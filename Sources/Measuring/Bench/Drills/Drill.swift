import Glibc
import JSON

/// A drill: an incident that every gateway meets one day, caused on purpose, with clients that
/// check each frame. It judges itself: `DrillReport` says whether all criteria hold.
package struct Drill: Sendable {
    /// One dimension of a drill's size.
    package struct Scale: Sendable {
        package let name: String
        package let value: Int
        let range: ClosedRange<Int>
        package let help: String
    }

    /// The parameters of a run: the values of its scale, and where it reports progress.
    struct Plan: Sendable {
        let values: [String: Int]
        let say: @Sendable (String) -> Void

        subscript(_ name: String) -> Int { values[name] ?? 0 }

        /// A duration that is given in milliseconds.
        func milliseconds(_ name: String) -> Nanoseconds { self[name] * Clock.millisecond }
    }

    package let name: String
    package let summary: String
    package let scale: [Scale]
    /// Whether it stops the gateway, and so must have started it.
    var restarts = false
    /// Whether it judges a third-party client, which must be named.
    var judges = false
    let run: @Sendable (Site, Plan, inout DrillReport) throws(BenchError) -> Void

    /// Runs the drill.
    /// - Parameters:
    ///   - values: values of its scale that differ from the defaults.
    ///   - say: gets the progress, one line at a time.
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
    /// Creates the rooms of a drill with their messages, and the clients, without connecting them.
    /// - Parameters:
    ///   - members: by client, its rooms.
    ///   - held: the number of messages that each room has from the start.
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

    /// Deletes the rooms.
    func leave(_ site: Site) throws(BenchError) {
        let api = try site.api()
        for room in rooms { try api.delete(room.name) }
    }
}

extension ServerAPI {
    /// Writes `count` messages into the room, and records them there.
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

/// The share of its core that the driver's thread uses, since the creation of this value.
struct BusyMeter {
    private let start = Clock.now()
    private let cpu = Machine.threadCPUSeconds()

    func read() -> Double {
        (Machine.threadCPUSeconds() - cpu) / max(1e-9, Clock.seconds(Clock.now() - start))
    }
}
