import Foundation
import TestSupport
import Testing

extension Faults {
    /// An origin loses its end, in which a user joined conversations and left some. A client that
    /// comes back shows the list as it is now, with a token from before what was lost and with one
    /// that knew of it. So does a client that stayed.
    @Suite struct LostLists {
        /// Several come back with each kind of token, while some join what makes up for the number
        /// of what was lost.
        @Test(arguments: Faults.listOrigins)
        func nobodyGoesOnWithAListThatWasLost(_ kind: ListOrigin.Kind) throws {
            let origin = try ListOrigin(kind)
            let api = origin.gateways[0].api(learnsWrites: false)
            try prepare(api)
            let early = try ListHolder.each(users, at: origin.gateways[0])
            try origin.keep()
            try origin.beginLosing()
            // Some join, some leave, some do both, and the last does neither.
            for (number, user) in users.enumerated() {
                if number % 3 == 0 { try api.remove(user, from: "left") }
                if number < 3 { try api.add(user, to: "lost") }
                try api.post(["author": "boss", "body": "lost"], to: "stays")
            }
            let lost = try users.map { try ListHolder.truth(of: $0, api) }
            for (holder, truth) in zip(early, lost) {
                #expect(try holder.client.wait { _ in holder.list == truth }, "\(kind): before")
            }
            let late = try ListHolder.each(users, at: origin.gateways[0])
            let watchers = try ListHolder.each(users, at: origin.gateways[1])
            #expect(zip(late, lost).allSatisfy { $0.list == $1 }, "\(kind)")
            for holder in early + late { holder.client.disconnect() }

            try origin.goBack()
            for (number, user) in users.enumerated() where number.isMultiple(of: 2) {
                try ServerAPI.insist { try api.add(user, to: "new") }
            }
            for (number, holder) in (early + late).enumerated() {
                let gateway = origin.gateways[number / 2 % 2]
                try holder.comeBack(to: gateway)
                let truth = try ServerAPI.insist {
                    try ListHolder.truth(of: holder.client.user, api)
                }
                let word: Comment = "\(kind), \(number): \(holder.list), in truth \(truth)"
                #expect(holder.list.count == holder.total, word)
                // A gateway that has not found the new server says that it may not know all.
                #expect(holder.isOpen || Set(holder.list.keys) == Set(truth.keys), word)
            }
            for holder in early + late + (origin.isLiving ? watchers : []) {
                // A gateway that looks for its server again may refuse to answer for a moment.
                let isRight = try holder.client.wait(.after(.seconds(20))) { _ in
                    holder.list == (try? ListHolder.truth(of: holder.client.user, api))
                }
                let truth = try ServerAPI.insist {
                    try ListHolder.truth(of: holder.client.user, api)
                }
                #expect(isRight, "\(kind), at rest: \(holder.list), in truth \(truth)")
            }
        }

        private let users = (0..<5).map { "user-\($0)" }

        private func prepare(_ api: ServerAPI) throws {
            let all = JSONValue.array(users.map { .string($0) } + ["boss"])
            for id in ["stays", "left", "other"] {
                try api.put(id, ["participants": all])
                try api.post(["author": "boss", "body": "kept"], to: id)
            }
            for id in ["lost", "new"] { try api.put(id, ["participants": ["boss"]]) }
        }
    }
}

/// An origin that is put back to an earlier state, with two gateways on it.
final class ListOrigin {
    enum Kind: String, CaseIterable, CustomTestStringConvertible {
        /// The embedded log's file is put back alone, or with all that lies beside it.
        case file, folder
        /// Redis loads an older file, or copies an older server, while it goes on.
        case reloaded, copied
        /// Another server takes the place, and lacks the end.
        case failover
        case promoted
        /// An older copy takes the place of what Postgres had.
        case backup, dump

        var testDescription: String { rawValue }
    }

    let gateways: [GatewayProcess]
    /// Whether gateways go on meanwhile.
    let isLiving: Bool
    private let kind: Kind
    private let servers: (any FailingServers)?
    private let redis: RedisProcess?
    private var older: RedisProcess?

    init(_ kind: Kind) throws {
        self.kind = kind
        var settings = Faults.settings.merging(["sync.verify_interval": "1s"]) { $1 }
        (servers, redis) =
            switch kind {
            case .file, .folder: (nil, nil)
            case .reloaded, .copied:
                (nil, try RedisProcess(["--enable-debug-command", "yes"], keeping: .nothing))
            case .failover: (try Failover.killed.servers(), nil)
            case .promoted: (try Failover.primaryKilled.servers(), nil)
            case .backup: (try Failover.backupRestored.servers(), nil)
            case .dump: (try Failover.dumpRestored.servers(), nil)
            }
        settings.merge(servers?.settings ?? [:]) { $1 }
        if let redis { settings["upstream.redis.url"] = redis.url }
        isLiving = servers != nil || redis != nil
        if isLiving {
            gateways = try (0..<2).map { _ in try GatewayProcess(settings: settings) }
        } else {
            settings["upstream.kind"] = "embedded"
            settings["sync.verify_interval"] = nil
            let gateway = try GatewayProcess(settings: settings)
            gateways = [gateway, gateway]
        }
    }

    private var folder: String { gateways[0].directory.path }

    private func copy(_ from: String, _ to: String) throws {
        let names = kind == .file ? ["", "-wal"] : ["", "-wal", ".lock"]
        for name in ["", "-wal", "-shm", ".lock"] {
            let target = "\(to)/gapless.db\(name)"
            if kind == .folder || name != ".lock" {
                try? FileManager.default.removeItem(atPath: target)
            }
            let source = "\(from)/gapless.db\(name)"
            guard names.contains(name), FileManager.default.fileExists(atPath: source) else {
                continue
            }
            try FileManager.default.copyItem(atPath: source, toPath: target)
        }
    }

    /// Keeps the present state.
    func keep() throws {
        switch kind {
        case .file, .folder:
            let kept = folder + "/kept"
            try FileManager.default.createDirectory(
                atPath: kept, withIntermediateDirectories: true)
            try copy(folder, kept)
        case .reloaded: try redis?.ask("SAVE")
        case .copied: older = try redis?.copied()
        case .failover, .promoted, .backup, .dump: break
        }
    }

    func beginLosing() throws { try servers?.beginLosing() }

    func goBack() throws {
        switch kind {
        case .file, .folder:
            gateways[0].kill()
            try copy(folder + "/kept", folder)
            try gateways[0].start()
        case .reloaded: try redis?.ask("DEBUG", "RELOAD", "NOSAVE")
        case .copied: if let older { try redis?.become(older) }
        case .failover, .promoted, .backup, .dump:
            try servers?.fail()
            let isBack = try Deadline.after(.seconds(60)).poll {
                try servers?.successor() != nil
            }
            guard isBack else { throw TestFailure("nobody has taken the place") }
            try servers?.hold()
        }
    }
}

extension RedisProcess {
    /// A server with the same data.
    fileprivate func copied() throws -> RedisProcess {
        let older = try RedisProcess(keeping: .nothing)
        try older.become(self)
        return older
    }

    /// Takes over what the other one has, and is its own master.
    fileprivate func become(_ other: RedisProcess) throws {
        try ask("REPLICAOF", "127.0.0.1", "\(other.port)")
        let isCopied = Deadline.standard.poll {
            (try? info("replication"))?["master_link_status"] == "up"
        }
        guard isCopied else { throw TestFailure("the server was not copied") }
        try ask("REPLICAOF", "NO", "ONE")
    }
}
