import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

extension Faults {
    /// What an operator is told when something is wrong with Postgres, or between it and us.
    @Suite struct PostgresState {
        private let server: PostgresProcess

        init() throws { server = try PostgresProcess() }

        private func gateway(_ url: String, starts: Bool = true) throws -> GatewayProcess {
            try GatewayProcess(
                settings: [
                    "upstream.kind": "postgres", "upstream.postgres.url": url,
                    "upstream.postgres.lock_timeout": "500ms", "page.enabled": "false",
                    "sync.verify_interval": "1s",
                ], starts: starts)
        }

        /// A transaction of an application that stays open keeps writers of its conversation out,
        /// nobody else, and health names it.
        @Test func anOpenTransactionIsNamedAndBlocksOneConversation() throws {
            let url = try server.database()
            let gateway = try gateway(url)
            let api = gateway.api()
            for id in ["held", "free"] { try api.put(id, ["participants": ["alice"]]) }
            let holder = Process()
            holder.executableURL = URL(filePath: "/usr/lib/postgresql/15/bin/psql")
            holder.arguments = ["--no-psqlrc", "--quiet", url]
            let input = Pipe()
            holder.standardInput = input
            holder.standardOutput = FileHandle.nullDevice
            try holder.run()
            defer { holder.terminate() }
            let text = """
                begin; select gapless.post_message('held', 'shop', '{"body": "order"}'); \
                select pg_sleep(20); commit;\n
                """
            try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
            let isHeld = try Deadline.standard.poll {
                try server.query(
                    "select count(*) from pg_stat_activity where query like '%pg_sleep(20)%'"
                        + " and state = 'active' and pid <> pg_backend_pid()", in: url) == "1"
            }
            #expect(isHeld)
            let process = try server.query(
                "select pid from pg_stat_activity where query like '%pg_sleep(20)%'"
                    + " and state = 'active' and pid <> pg_backend_pid()", in: url)
            do {
                try api.post(["author": "alice", "body": "waits"], to: "held")
                Issue.record("was written below an open transaction")
            } catch let error as ServerAPI.Refused {
                #expect(error.code == "origin_unavailable")
            }
            try api.post(["author": "alice", "body": "goes"], to: "free")
            let trouble = try gateway.health().json["upstream"][0]["trouble"].string ?? ""
            #expect(trouble.contains("conversation held"), "\(trouble)")
            #expect(trouble.contains("process \(process)"), "\(trouble)")
        }

        /// A transaction that moves somebody's marker and stays open is in the way of that marker.
        /// Writers of others' markers, and readers, don't notice. A lock on the tables, as a
        /// migration takes, keeps every writer out: health says so, and the metric that the alert
        /// is about.
        @Test func aLockOnTheTablesIsNamed() throws {
            let url = try server.database()
            let gateway = try gateway(url)
            try gateway.api().put("ops", ["participants": ["alice"]])
            let holder = Process()
            holder.executableURL = URL(filePath: "/usr/lib/postgresql/15/bin/psql")
            holder.arguments = [
                "--no-psqlrc", "--quiet", "--command",
                "begin; lock table gapless.conversations; select pg_sleep(30)", url,
            ]
            holder.standardOutput = FileHandle.nullDevice
            try holder.run()
            defer { holder.terminate() }
            var trouble = ""
            let isNamed = Deadline.standard.poll {
                _ = try? gateway.api().post(["author": "alice", "body": "b"], to: "ops")
                let health = try? gateway.health().json
                trouble = health?["upstream"][0]["trouble"].string ?? ""
                return trouble.contains("conversation ops: locked for more than")
            }
            #expect(isNamed, "\(trouble)")
            #expect(try gateway.metrics()["gapless_upstream_troubled"] == 1)
        }

        @Test func aMarkerThatIsLockedKeepsNobodyElseWaiting() throws {
            let url = try server.database()
            let gateway = try gateway(url)
            let api = gateway.api()
            try api.put("c1", ["participants": ["alice", "bob"]])
            for number in 1...3 {
                try api.post(["author": "shop", "body": .string("\(number)")], to: "c1")
            }
            let session = try SchemaSession(url)
            try session.run("begin; select gapless.mark_read('c1', 'alice', 1)")
            let alice = try gateway.client("alice")
            let bob = try gateway.client("bob")
            // More of them than there are connections.
            let asked = try (1...8).map { _ in
                try alice.send("markRead", ["conversation": "c1", "seq": 3])
            }
            for seq in 1...3 {
                let marked = try bob.request("markRead", ["conversation": "c1", "seq": .int(seq)])
                #expect(marked["lastReadSeq"] == .int(seq))
                #expect(try !api.page("c1", "limit=1")["messages"].isNull)
                let page = ["conversation": "c1", "cached": false, "limit": 1] as JSONValue
                #expect(try !bob.request("fetchMessages", page)["messages"].isNull)
            }
            for id in asked {
                do {
                    _ = try alice.result(of: id)
                    Issue.record("a marker was moved below an open transaction")
                } catch let error as ChatTestClient.RequestFailed {
                    #expect(error.code == "origin_unavailable")
                }
            }
            #expect(try gateway.health().json["upstream"][0]["trouble"].isNull)
            try session.run("commit")
            let marked = try alice.request("markRead", ["conversation": "c1", "seq": 3])
            #expect(marked["lastReadSeq"] == 3)
        }

        /// An application sends a message, edits it and deletes another in one transaction: the
        /// gateway finds the newest values alone, and tells each of them once.
        @Test func whatATransactionChangesTwiceComesOnce() throws {
            let url = try server.database()
            let gateway = try gateway(url)
            let api = gateway.api()
            try api.put("c1", ["participants": ["alice"]])
            let old = try api.post(["author": "alice", "body": "old"], to: "c1")
            let watcher = try Watcher(gateway, "alice", ["c1"])
            try watcher.subscribe()
            #expect(try watcher.lives(to: ["c1": 2]))
            try server.query(
                """
                begin;
                select gapless.post_message('c1', 'shop', '{"id": "order", "body": "placed"}');
                select gapless.edit_message('c1', '\(old["id"].string ?? "")', '{"body": "new"}');
                select gapless.edit_message('c1', 'order', '{"body": "paid"}');
                select gapless.delete_message('c1', '\(old["id"].string ?? "")');
                commit
                """, in: url)
            #expect(try watcher.lives(to: ["c1": 6]))
            let truth = try api.learnChanges(of: "c1")
            #expect(watcher.judge(["c1": truth]) == [])
            #expect(watcher.client.holder("c1").messages.count == 2)
        }

        /// A transaction sends a message, takes somebody out, and edits the message.
        @Test func whoIsTakenOutIsNotSentWhatFollows() throws {
            let url = try server.database()
            let gateway = try gateway(url)
            try gateway.api().put("c1", ["participants": ["alice", "bob"]])
            let alice = try Watcher(gateway, "alice", ["c1"])
            let bob = try gateway.client("bob")
            try alice.subscribe()
            #expect(try alice.lives(to: ["c1": 1]))
            _ = try bob.request("subscribeMessages", ["conversation": "c1"])
            try server.query(
                """
                begin;
                select gapless.post_message('c1', 'shop', '{"id": "order", "body": "placed"}');
                select gapless.remove_participants('c1', '{bob}');
                select gapless.edit_message('c1', 'order', '{"body": "for alice alone"}');
                commit
                """, in: url)
            #expect(try alice.lives(to: ["c1": 4]))
            #expect(try bob.nextEvent("unsubscribed")["reason"] == "removed")
            let sent = bob.events.flatMap { $0["deltas"].array ?? [] }
            #expect(sent == [])
        }

        /// A log from which somebody deleted rows by hand is not whole: it is never passed on as
        /// whole.
        @Test func aRowThatSomebodyDeletedIsSaidSo() throws {
            for _ in 0..<Faults.scale { try readWithoutARow() }
            Faults.report("row deleted by hand, another gateway asks | runs \(Faults.scale)")
        }

        private func readWithoutARow() throws {
            let url = try server.database()
            let gateway = try gateway(url)
            let api = gateway.api()
            try api.put("c1", ["participants": ["alice"]])
            for number in 1...5 {
                try api.post(["author": "alice", "body": .string("\(number)")], to: "c1")
            }
            try server.query(
                "delete from gapless.messages where conversation = 'c1' and seq = 3", in: url)
            // Another gateway has an empty cache, and must ask.
            let other = try self.gateway(url)
            let client = try other.client("alice")
            do {
                let page = try client.result(
                    of: try client.send("fetchMessages", ["conversation": "c1", "cached": false]))
                Issue.record("a page with a hole was passed on: \(page)")
            } catch let error as ChatTestClient.RequestFailed {
                #expect(error.code == "origin_unavailable")
            }
        }

        /// What a gateway missed while it was away lacks a row: nobody is told that it has all of
        /// it, until the row is back.
        @Test(
            arguments: [
                "messages where seq = 2", "messages where seq = 4", "changes where rev = 5",
            ])
        func whatWasMissedIsNotPassedOnWithoutARow(_ row: String) throws {
            var (naming, recovery) = (Duration.zero, Duration.zero)
            for _ in 0..<Faults.scale {
                let told = try catchUpWithout(row)
                (naming, recovery) = (max(naming, told.naming), max(recovery, told.recovery))
            }
            Faults.report(
                "missed, and then deleted: \(row) | runs \(Faults.scale)"
                    + " | named \(naming.text) s | recovered \(recovery.text) s")
        }

        /// - Returns: How long the gateway took to say so, and to fill the hole when the row was
        ///   back.
        private func catchUpWithout(
            _ row: String
        ) throws -> (naming: Duration, recovery: Duration) {
            let url = try server.database()
            let gateway = try gateway(url)
            let other = try self.gateway(url)
            let api = other.api()
            try api.put("c1", ["participants": ["alice"]])
            try api.post(["author": "alice", "body": "held"], to: "c1")
            let before = try Watcher(gateway, "alice", ["c1"])
            try before.subscribe()
            #expect(try before.lives(to: ["c1": 2]))
            gateway.kill()
            for number in 1...5 {
                try api.post(["author": "alice", "body": .string("\(number)")], to: "c1")
            }
            try server.query(
                "create table kept as select * from gapless.\(row); delete from gapless.\(row)",
                in: url)
            try gateway.start()
            var began = ContinuousClock.now
            let watcher = try Watcher(
                gateway, "alice", ["c1"], before: ["c1": before.client.holder("c1")])
            try watcher.subscribe()
            let isNamed = try Deadline.standard.poll {
                try watcher.client.pump()
                try watcher.repeatRefused()
                return gateway.logs("conversation c1 is damaged")
            }
            let naming = ContinuousClock.now - began
            #expect(isNamed, "\(gateway.log.suffix(1500))")
            try watcher.client.pump()
            #expect(!watcher.isWhole(["c1": 0]))
            // What is sound is answered, and does not count for the rest.
            _ = try gateway.api().page("c1", "limit=1")
            #expect(
                try gateway.health().json["upstream"][0]["trouble"].string?.contains("c1") == true)
            #expect(!gateway.log.contains("is whole again"))
            let table = row.prefix { $0 != " " }
            began = .now
            try server.query("insert into gapless.\(table) select * from kept", in: url)
            #expect(try watcher.lives(to: ["c1": 7]), "\(gateway.log.suffix(1500))")
            let isMended = Deadline.standard.poll { gateway.log.contains("c1 is whole again") }
            let recovery = ContinuousClock.now - began
            #expect(isMended)
            let truth = try api.learnChanges(of: "c1")
            #expect(watcher.judge(["c1": truth]) == [])
            return (naming, recovery)
        }

        /// A gateway whose database has no schema for it ends at once, with the line to type. One
        /// whose server is away starts, and names the same when it is there.
        @Test func aGatewayWithoutItsSchemaDoesNotStart() throws {
            let bare = server.url(try server.makeDatabase())
            let old = try server.database()
            try server.query("update gapless.installation set version = 0", in: old)
            let new = try server.database()
            try server.query(
                """
                create or replace function gapless.gateway_hello() returns json language sql as
                $$ select json_build_object('version', 99, 'minimum', 99, 'recovery', false) $$
                """, in: new)
            for (url, line) in [
                (bare, "type: gapless postgres install --url URL"),
                (old, "type: gapless postgres upgrade --url URL"),
                (new, "type: gapless version, and install a newer one"),
            ] {
                let gateway = try gateway(url, starts: false)
                try gateway.start(waits: false)
                #expect(try gateway.waitForExit() == 1, "\(line)")
                #expect(gateway.logs(line), "\(gateway.log)")
            }
            let late = try gateway(bare, starts: false)
            server.kill()
            try late.start(waits: false)
            #expect(
                Deadline.standard.poll { (try? late.health("/health/ready").status) == 503 })
            try server.restart()
            let isNamed = Deadline.standard.poll {
                let health = try? late.health().json
                return health?["upstream"][0]["trouble"].string?
                    .contains("gapless postgres install") == true
            }
            #expect(isNamed, "\(late.log.suffix(1500))")
        }

        /// Through a pooler in transaction mode notifications are lost, and nobody would know.
        @Test func aPoolerInTransactionModeIsRefused() throws {
            var naming = Duration.zero
            for _ in 0..<Faults.scale { naming = max(naming, try refusePooler()) }
            Faults.report(
                "pooler in transaction mode | runs \(Faults.scale) | refused after"
                    + " \(naming.text) s | violations 0")
        }

        /// - Returns: How long the gateway took to say so.
        private func refusePooler() throws -> Duration {
            let url = try server.database()
            let database = url.split(separator: "/").last.map(String.init) ?? ""
            let port = try Port.free()
            let file = server.directory + "/pgbouncer.ini"
            let text = """
                [databases]
                \(database) = host=127.0.0.1 port=\(server.port) user=postgres
                [pgbouncer]
                listen_addr = 127.0.0.1
                listen_port = \(port)
                auth_type = any
                pool_mode = transaction
                unix_socket_dir =
                ignore_startup_parameters = extra_float_digits
                """
            try Data(text.utf8).write(to: URL(filePath: file))
            chmod(file, 0o644)
            let pooler = try ChildProcess(
                "/usr/bin/setpriv",
                [
                    "--reuid=postgres", "--regid=postgres", "--clear-groups",
                    "/usr/sbin/pgbouncer", file,
                ], log: server.directory + "/pgbouncer.log")
            defer { pooler.kill() }
            let gateway = try gateway(
                "postgres://postgres@127.0.0.1:\(port)/\(database)", starts: false)
            let began = ContinuousClock.now
            try gateway.start(waits: false)
            let isNamed = Deadline.after(.seconds(30)).poll { gateway.log.contains("pooler") }
            let naming = ContinuousClock.now - began
            #expect(isNamed, "\(gateway.log.suffix(1500))")
            #expect(try gateway.health("/health/ready").status == 503)
            return naming
        }
    }
}
