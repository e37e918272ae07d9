import JSON

/// `resume`: all clients come back at once and have missed something in each conversation. Only the
/// first answer to a resume is examined; others are compared with it.
extension Scenario {
    static let resume = Scenario(
        name: "resume", summary: "a storm of clients that all missed something",
        options: [
            .init(name: "clients", value: "N,…", help: "who come back (1000)"),
            .init(name: "conversations", value: "K", help: "of each client (3)"),
            .init(name: "missed", value: "M", help: "messages of each conversation (20)"),
            .init(name: "rooms", value: "N", help: "conversations altogether (30)"),
            .init(name: "held", value: "N", help: "messages that clients hold of each (100)"),
            .init(name: "depths", value: "N", help: "different ones to hold from on (1)"),
        ]
    ) { options throws(BenchError) in
        let counts = try options.ints("clients", default: [1000], in: 1...100_000)
        let each = try options.int("conversations", default: 3, in: 1...1000)
        let missed = try options.int("missed", default: 20, in: 0...1000)
        let rooms = try options.int("rooms", default: 30, in: 1...100_000)
        let held = try options.int("held", default: 100, in: 1...100_000)
        let depths = try options.int("depths", default: 1, in: 1...1000)
        guard rooms >= each else {
            throw .usage("--rooms: \(rooms) are fewer than each client has (--conversations)")
        }
        return counts.map { count in
            let storm = Storm(
                clients: count, conversations: each, missed: missed, rooms: rooms, held: held,
                depths: depths)
            return Case(name: storm.name, parameters: storm.parameters) {
                gateway throws(BenchError) in try trial(of: storm, gateway)
            }
        }
    }

    private static func trial(
        of storm: Storm, _ gateway: GatewayProcess
    ) throws(BenchError) -> Trial {
        let haves = try storm.prepare(try gateway.api())
        let fetches = "gapless_origin_fetches_total{kind=\"range\"}"
        let before = try gateway.metric(fetches) ?? 0
        let swarm = try Swarm(port: gateway.port)
        let run = StormRun(swarm, storm, haves)

        let meter = try UsageMeter(gateway)
        try swarm.connect(try swarm.open(storm.clients)) { "user-\($0)" }
        let connect = try meter.read()
        let resume = try UsageMeter(gateway)
        try run.resume()
        let usage = try resume.read()

        var trial = Trial()
        trial.add("connectTime", connect.wallSeconds, "s")
        trial.add("connectCPU", connect.gatewaySeconds, "s")
        trial.add("resumeTime", usage.wallSeconds, "s")
        trial.add("resumeCPU", usage.gatewaySeconds, "s")
        let resumes = Double(storm.clients * storm.conversations)
        trial.add("CPUPerResume", usage.gatewaySeconds * 1e6 / resumes, "µs")
        trial.add(latencies: run.latencies, "whole")
        trial.add("rangeFetches", Double((try gateway.metric(fetches) ?? 0) - before), "")
        trial.add("residentMemory", Double(try gateway.figures().residentBytes), "B")
        trial.add(usage)
        trial.faults = run.faults + (try gateway.faults())
        return trial
    }
}
