import Foundation
import Glibc
import TestSupport
import Testing

extension Faults {
    /// A Postgres that goes on, and does not do for a gateway what it did: health, the log and the
    /// clients are told, nobody takes a hole for silence, and what is given back is enough.
    @Suite struct PostgresRefusals {
        /// Something that is taken from the gateway's role, and how that shows.
        struct Right: Sendable {
            var take: String
            var give: String
            /// What health and the log name.
            var named: String
            /// Whether clients are told that the origin is away.
            var breaksFeed = true
            /// Whether a write is refused.
            var breaksWrites = true

            static func function(
                _ name: String, _ arguments: String, breaksFeed: Bool = true,
                breaksWrites: Bool = true
            ) -> Right {
                let words = "execute on function gapless.\(name)(\(arguments))"
                return Right(
                    take: "revoke \(words) from gapless_gateway",
                    give: "grant \(words) to gapless_gateway",
                    named: "permission denied for function \(name)", breaksFeed: breaksFeed,
                    breaksWrites: breaksWrites)
            }
        }

        static let rights: [Right] = [
            .function("gateway_hello", ""),
            .function("gateway_read", "json", breaksWrites: false),
            .function("gateway_write", "json, boolean", breaksFeed: false),
            .function("gateway_settings", "json", breaksFeed: false, breaksWrites: false),
            .function(
                "gateway_trim", "integer, integer, bigint, bigint, integer", breaksFeed: false,
                breaksWrites: false),
            Right(
                take: "revoke usage on schema gapless from gapless_gateway",
                give: "grant usage on schema gapless to gapless_gateway",
                named: "permission denied for schema gapless"),
            Right(
                take: "alter role lacking nologin", give: "alter role lacking login",
                named: "not permitted to log in"),
            Right(
                take: "revoke connect on database current from public",
                give: "grant connect on database current to public",
                named: "permission denied for database"),
        ]

        /// Each right is taken away in turn.
        @Test func eachRightThatIsMissingIsNamed() throws {
            try Scene.run("a right is missing, eight of them") { try loseRights() }
        }

        private func loseRights() throws -> Scene {
            let server = try PostgresProcess()
            let scene = try Scene(
                server, role: "lacking", more: ["upstream.postgres.retain": "500"])
            // It trims every ten seconds.
            for right in Self.rights where Faults.isLong || !right.take.contains("_trim") {
                let place: Comment = "\(right.take)"
                try server.query(scene.inDatabase(right.take), in: scene.url)
                try scene.throwOut()
                // What is missing for writes shows when somebody writes.
                if right.breaksWrites {
                    #expect(try scene.refusal()?.code == "origin_unavailable", "\(place)")
                }
                #expect(try scene.isTold(right.named), "\(place): \(scene.trouble)")
                #expect(scene.gateway.log.contains(right.named), "\(place)")
                if right.breaksFeed {
                    #expect(
                        try scene.live { scene.watcher.state != "online" }, "\(place): not told")
                }
                // The application goes on.
                try scene.applicationWrites()
                if !right.breaksWrites { try scene.write() }
                try server.query(scene.inDatabase(right.give), in: scene.url)
                try scene.expectWhole(place)
            }
            return scene
        }

        /// All connections are somebody else's, those for superusers left out.
        @Test func connectionsThatAreUsedUpAreNamed() throws {
            try Scene.run("connections used up") { try useUpConnections() }
        }

        private func useUpConnections() throws -> Scene {
            let server = try PostgresProcess(["max_connections=20"])
            // No connection is on its way when it is stopped.
            let scene = try Scene(server, role: "late", more: ["sync.verify_interval": "60s"])
            let others = try server.url(scene.database, user: scene.makeRole("others"))
            // It must not be faster than those who take the places.
            scene.gateway.signal(SIGSTOP)
            try scene.throwOut()
            var sleepers: [ChildProcess] = []
            defer { for sleeper in sleepers { sleeper.kill() } }
            let isUsedUp = try Deadline.standard.poll {
                let count = try server.query(
                    "select count(*) from pg_stat_activity where usename = 'others'")
                if count == "17" { return true }
                // Who counts takes a place too.
                sleepers.append(
                    try ChildProcess(
                        PostgresProcess.programs + "/psql",
                        ["--no-psqlrc", "--command", "select pg_sleep(600)", others],
                        log: "\(server.directory)/sleeper"))
                return false
            }
            #expect(isUsedUp)
            scene.gateway.signal(SIGCONT)
            #expect(try scene.isTold("remaining connection slots"), "\(scene.trouble)")
            #expect(try scene.live { scene.watcher.state != "online" }, "not told")
            #expect(try scene.refusal()?.code == "origin_unavailable")
            try server.query(
                "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'others'")
            try scene.expectWhole("connections")
            return scene
        }

        /// Who can't write says so; who reads is served; and it goes on when there is room.
        @Test(.enabled(if: geteuid() == 0, "Postgres runs as another user, on a disk of root's"))
        func aFullDiskIsNamed() throws {
            try Scene.run("full disk") { try fillDisk() }
        }

        private func fillDisk() throws -> Scene {
            let disk = try SmallDisk(kilobytes: 32 * 1024)
            let user = getpwnam("postgres")
            chown(disk.outside, user?.pointee.pw_uid ?? 0, user?.pointee.pw_gid ?? 0)
            let server = try PostgresProcess(launcher: disk.launcher)
            try server.query("create tablespace small location '\(disk.directory)'")
            let scene = try Scene(server, role: "writing") { database in
                try server.query("alter database \(database) set tablespace small")
            }
            try disk.fill()
            let large = String(repeating: "large ", count: 3000)
            var refused: ServerAPI.Refused?
            for _ in 0..<500 where refused == nil { refused = try scene.refusal(of: large) }
            #expect(refused?.code == "origin_unavailable" && refused?.retry == "later")
            #expect(try scene.isTold("No space left on device"), "\(scene.trouble)")
            #expect(try scene.gateway.health("/health/ready").status == 200)
            #expect(try !scene.api.page("ops", "limit=10")["messages"].isNull)
            disk.free()
            try scene.expectWhole("disk")
            return scene
        }

        /// The queue is eight gigabytes, whatever the machine.
        @Test(.enabled(if: Faults.isLong, "takes minutes, and the room"))
        func aFullNotificationQueueIsNamed() throws {
            try Scene.run("full notification queue", Faults.scale / 4) { try fillQueue() }
        }

        private func fillQueue() throws -> Scene {
            let server = try PostgresProcess()
            let scene = try Scene(server, role: "ringing")
            // The server takes so long to give eight gigabytes back.
            scene.patience = .seconds(300)
            let holder = try ChildProcess(
                PostgresProcess.programs + "/psql",
                [
                    "--no-psqlrc", "--command", "listen nothing", "--command",
                    "begin; select pg_sleep(900)", scene.url,
                ], log: server.directory + "/holder")
            defer { holder.kill() }
            let isHeld = try Deadline.standard.poll {
                try server.query(
                    "select count(*) from pg_stat_activity where query like '%pg_sleep(900)'"
                        + " and wait_event = 'PgSleep'") == "1"
            }
            #expect(isHeld)
            let fill =
                "select count(pg_notify('nothing', repeat('a', 7900) || n))"
                + " from generate_series(1, 20000) n"
            var isFull = false
            for _ in 0..<80 where !isFull {
                isFull = (try? server.query(fill, in: scene.url)) == nil
            }
            #expect(isFull)
            #expect(try scene.refusal()?.retry == "later")
            #expect(try scene.isTold("notification queue"), "\(scene.trouble)")
            // Its server would sleep on without it.
            try server.query(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                    + " where query like '%pg_sleep(900)' and pid <> pg_backend_pid()")
            try scene.expectWhole("queue")
            return scene
        }
    }
}

/// One gateway that goes to its database as a role of its own, and one client that watches.
private final class Scene {
    let server: PostgresProcess
    let role: String
    let database: String
    /// The database, for its owner.
    let url: String
    let gateway: GatewayProcess
    let api: ServerAPI
    let watcher: Watcher
    /// How long something may take to come to hold.
    var patience = Duration.seconds(30)
    /// The longest until health named it, and until all was whole again behind its end.
    private var naming = Duration.zero
    private var recovery = Duration.zero

    /// Runs a story as often as the scale says, and reports what that came to.
    static func run(
        _ title: String, _ runs: Int = Faults.scale, _ story: () throws -> Scene
    ) throws {
        var (naming, recovery, violations) = (Duration.zero, Duration.zero, 0)
        for _ in 0..<max(1, runs) {
            let scene = try story()
            violations += try scene.judge()
            naming = max(naming, scene.naming)
            recovery = max(recovery, scene.recovery)
        }
        Faults.report(
            "\(title) | runs \(max(1, runs)) | named \(naming.text) s"
                + " | recovered \(recovery.text) s | violations \(violations)")
    }

    /// - Parameter prepare: called with the database before anybody is there.
    init(
        _ server: PostgresProcess, role: String, more: [String: String] = [:],
        prepare: (String) throws -> Void = { _ in }
    ) throws {
        self.server = server
        self.role = role
        url = try server.database()
        database = String(url.split(separator: "/").last ?? "")
        try prepare(database)
        try server.query("create role \(role) login in role gapless_gateway")
        let settings = [
            "upstream.kind": "postgres", "sync.verify_interval": "1s",
            "upstream.postgres.url": server.url(database, user: role),
        ]
        gateway = try GatewayProcess(
            settings: Faults.settings.merging(settings) { $1 }.merging(more) { $1 })
        api = gateway.api()
        try api.put("ops", ["participants": ["alice"]])
        try api.post(["author": "alice", "body": "first"], to: "ops")
        watcher = try Watcher(gateway, "alice", ["ops"])
        try watcher.subscribe()
        _ = try live { watcher.isWhole(["ops": 2]) }
    }

    func makeRole(_ name: String) throws -> String {
        try server.query("create role \(name) login")
        return name
    }

    func inDatabase(_ text: String) -> String { text.replacing("current", with: database) }

    /// Ends all connections of the gateway.
    func throwOut() throws {
        try server.query(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                + " where usename = '\(role)'")
    }

    func live(until condition: () throws -> Bool) throws -> Bool {
        try Deadline.after(patience).poll {
            try watcher.client.pump()
            try watcher.repeatRefused()
            return try condition()
        }
    }

    /// What health names.
    var trouble: String {
        let health = try? gateway.health().json
        return health?["upstream"][0]["trouble"].string ?? "no trouble"
    }

    /// Whether health comes to name it.
    func isTold(_ text: String) throws -> Bool {
        let began = ContinuousClock.now
        defer { naming = max(naming, .now - began) }
        return try live {
            try trouble.contains(text) && gateway.health().json["status"] == "degraded"
        }
    }

    func write() throws { try api.post(["author": "alice", "body": "goes"], to: "ops") }

    func applicationWrites() throws {
        try server.query(
            "select gapless.post_message('ops', 'shop', '{\"body\": \"order\"}')", in: url)
    }

    /// How a write is refused; nil if it is not.
    func refusal(of text: String = "refused") throws -> ServerAPI.Refused? {
        do {
            try api.post(["author": "alice", "body": .string(text)], to: "ops")
            return nil
        } catch let refused as ServerAPI.Refused {
            return refused
        }
    }

    /// Everything comes back by itself, and health has nothing to say once somebody has written.
    func expectWhole(_ place: Comment) throws {
        let began = ContinuousClock.now
        defer { recovery = max(recovery, .now - began) }
        let isWritten = try live { try refusal() == nil }
        #expect(isWritten, "\(place): writes do not go on")
        let head = try server.query("select rev from gapless.conversations", in: url)
        let isWhole = try live { watcher.isWhole(["ops": Int(head) ?? .max]) }
        #expect(isWhole, "\(place): the client is not whole at \(head)")
        let isWell = try live { try gateway.health().json["status"] == "ok" }
        #expect(isWell, "\(place): \(trouble)")
    }

    /// - Returns: How many promises are broken.
    private func judge() throws -> Int {
        let truth = try api.learnChanges(of: "ops")
        #expect(truth.log?.unknownChanges == [])
        let head = truth.log?.headRev ?? 0
        #expect(try live { watcher.isWhole(["ops": head]) })
        let faults = watcher.judge(["ops": truth])
        #expect(faults == [])
        return faults.count
    }
}
