import Foundation
import TestSupport

/// What befalls the gateways, their Redis, the way to it, and the clients.
enum Mishap: Hashable, Sendable {
    case outage(Outage)
    case killed
    case drained
    case reloaded
    case rotated
    case crammed
    case stalled
    case cut
    case expired
    case lost

    static let all: [Mishap] =
        Outage.allCases.map(Mishap.outage) + [
            .killed, .drained, .reloaded, .rotated, .crammed, .stalled, .cut, .expired, .lost,
        ]

    var name: String {
        switch self {
        case .outage(let outage): outage.rawValue
        case .killed: "gateway killed"
        case .drained: "gateway drained"
        case .reloaded: "reload"
        case .rotated: "token keys rotated"
        case .crammed: "disk full"
        case .stalled: "readers stall in a burst"
        case .cut: "clients cut"
        case .expired: "tokens run out"
        case .lost: "a log loses something"
        }
    }
}

extension Stage {
    /// Lets it happen, and ends it.
    ///
    /// - Throws: what a client or a process throws.
    func suffer(_ mishap: Mishap) throws {
        try sampler.mark(mishap.name)
        counts[mishap.name, default: 0] += 1
        switch mishap {
        case .outage(let outage):
            if outage.isOfTheLink, !outage.isMomentary { return try leaveBehind(outage) }
            try outage.begin(redis)
            if !outage.isMomentary { try pass(.milliseconds(800), .milliseconds(5000)) }
            try outage.end(redis)
        case .killed:
            let gateway = victim()
            gateway.kill()
            try pass(.milliseconds(200), .milliseconds(3000))
            try startAgain(gateway)
        case .drained: try drain(victim())
        case .reloaded: try reload()
        case .rotated:
            try keys.rotateTokens {
                for gateway in gateways { gateway.signal(SIGHUP) }
                try pass(.milliseconds(1000), .milliseconds(1000))
            }
        case .crammed: try cram(gateways[Int.random(in: 0...1, using: &random)])
        case .stalled: try stallReaders()
        case .cut:
            for guest in guests where random.happens(40) {
                guest.cut(.milliseconds(Int.random(in: 0...5000, using: &random)))
            }
        case .expired:
            for guest in guests where random.happens(50) { try guest.letTokenRunOut() }
            try pass(.seconds(3), .seconds(4))
        case .lost: try losses.strike(self)
        }
    }

    private func pass(_ shortest: Duration, _ longest: Duration) throws {
        let share = Double.random(in: 0...1, using: &random)
        _ = try live(shortest + (longest - shortest) * share)
    }

    /// The far gateway goes on, and much is said by it, so that the near one is far behind. When
    /// it is back the way is slow at first: there is time to ask about what is on its way.
    private func leaveBehind(_ outage: Outage) throws {
        let watched = conversations.filter { id in
            guests.contains {
                $0.isHere && $0.client.port == near.port && $0.client.holder(id).isSubscribed
            }
        }
        try outage.begin(redis)
        let writer = burst(of: 15, pause: 0, in: watched.randomElement(using: &random))
        if let writer { _ = try live(.seconds(4)) { writer.isDone } }
        try pass(.milliseconds(800), .milliseconds(5000))
        try outage.end(redis)
        redis.proxy.set(.slow)
        if let id = burstsIn, let newest = ledger.all(id).map(\.seq).max() {
            for _ in 0..<25 {
                let seq = Int.random(in: max(1, newest - 140)...newest, using: &random)
                inquest.ask(.init(conversation: id, seq: seq, gateway: 0))
                _ = try live(.milliseconds(120))
            }
        }
        redis.proxy.set(.open)
        if let writer { try wait(for: writer) }
    }

    /// The near one at any time; the far one only in the first third, see `Flatness`.
    private func victim() -> GatewayProcess {
        let isEarly = sampler.second < length / 3
        return isEarly && random.happens(50) ? far : near
    }

    private func startAgain(_ gateway: GatewayProcess) throws {
        try gateway.start(waits: false)
        let isReady = try live(.seconds(30)) {
            (try? gateway.health("/health/ready").status) == 200
        }
        if !isReady { accuse("a gateway is not ready again; its log: \(gateway.log.suffix(500))") }
    }

    private func drain(_ gateway: GatewayProcess) throws {
        gateway.signal(SIGTERM)
        let isOver = try live(.seconds(15)) { !gateway.isRunning }
        if !isOver { accuse("a gateway that drains does not end") }
        guard isOver else { return gateway.kill() }
        let status = try gateway.waitForExit()
        if status != 0 { accuse("a gateway that drained ended with \(status)") }
        try startAgain(gateway)
    }

    /// A changed limit, and another key of the server API, whose predecessor counts no more.
    private func reload() throws {
        try writeConfiguration()
        let old = try keys.rotateAPI()
        for gateway in gateways { gateway.signal(SIGHUP) }
        let isDone = try live(.seconds(10)) {
            gateways.allSatisfy {
                status($0, key: old) == 401 && status($0, key: keys.apiKey) == 200
            }
        }
        if !isDone { accuse("a reload did not change the keys of the server API") }
    }

    private func status(_ gateway: GatewayProcess, key: String) -> Int? {
        do {
            try ServerAPI(port: gateway.port, apiKey: key).call("GET", "/v1/gaps")
            return 200
        } catch {
            return (error as? ServerAPI.Refused)?.status
        }
    }

    /// No file of the gateway may grow beyond what little it is given, so that the kernel refuses
    /// what SQLite writes, as a full disk would.
    private func cram(_ gateway: GatewayProcess) throws {
        guard let process = gateway.processID else { return }
        for guest in guests { guest.bearsFullDiskUntil = .now + .seconds(15) }
        try limitFiles(of: process, to: "65536")
        try pass(.seconds(2), .seconds(5))
        try limitFiles(of: process, to: "unlimited")
    }

    private func limitFiles(of process: Int32, to size: String) throws {
        let log = gateways[0].directory.appendingPathComponent("prlimit.log").path
        let limit = try ChildProcess(
            "/usr/bin/prlimit", ["--pid=\(process)", "--fsize=\(size):"], log: log)
        let isDone = Deadline.after(.seconds(10)).poll { limit.exitStatus != nil }
        guard isDone, limit.exitStatus == 0 else { throw TestFailure("prlimit failed") }
    }

    /// Who reads slowly reads nothing, while more is said than the kernel and an outbox hold.
    private func stallReaders() throws {
        for guest in guests where guest.isSlow && guest.isHere {
            guest.restsUntil = .now + .seconds(6)
        }
        if let writer = burst(of: 30, pause: 60_000) { try wait(for: writer) }
        // A guest that goes while much waits for it.
        guests.first { $0.isSlow && $0.isHere && $0.isResting }?.cut(.seconds(1))
    }

    /// Much is said in one conversation, by the far gateway.
    ///
    /// - Parameters:
    ///   - count: of arrays of ten messages.
    ///   - chosen: the conversation; nil for one that somebody watches who does not read.
    private func burst(
        of count: Int, pause: UInt32, in chosen: String? = nil
    ) -> Background<Void>? {
        let watched = conversations.filter { id in
            guests.contains { $0.isResting && $0.conversations.contains(id) }
        }
        guard
            let id = chosen ?? watched.randomElement(using: &random)
                ?? conversations.randomElement(using: &random)
        else { return nil }
        bursts += 1
        burstsIn = id
        let (port, ledger, number) = (far.port, ledger, bursts)
        return Background { _ in
            let api = ServerAPI(
                port: port, apiKey: GatewayProcess.apiKey, learnsWrites: false)
            for array in 0..<count {
                let messages = (0..<10).map { place -> JSONValue in
                    let name = "burst-\(number)-\(array)-\(place)"
                    let body = String(repeating: "\(name) ", count: 120)
                    return ["id": .string(name), "author": "burst", "body": .string(body)]
                }
                let stored = try ServerAPI.insist { try api.post(messages, to: id) }
                for message in stored { ledger.note(id, message) }
                usleep(pause)
            }
        }
    }

    private func wait(for writer: Background<Void>) throws {
        let isDone = try live(.seconds(30)) { writer.isDone }
        if !isDone { accuse("a burst is not written in time") }
    }
}
