import TestSupport
import Testing

extension Faults {
    /// What Postgres is told not to keep, and those who were away when it went.
    @Suite struct PostgresRetention {
        /// A gateway and a client come back with a position whose mark is no longer kept: they read
        /// the conversation anew, under the same epoch, and hold what is kept.
        @Test func whoComesBackBehindTheKeptMarksReadsAnew() throws {
            let server = try PostgresProcess()
            let url = try server.database()
            let settings = Faults.settings.merging([
                "upstream.kind": "postgres", "upstream.postgres.url": url,
            ]) { $1 }
            let away = try GatewayProcess(settings: settings)
            let api = away.api()
            try api.put("ops", ["participants": ["alice"]])
            for number in 1...40 {
                try api.post(["author": "alice", "body": .string("\(number)")], to: "ops")
            }
            let earlier = try Watcher(away, "alice", ["ops"])
            try earlier.subscribe()
            let isWhole = try Deadline.standard.poll {
                try earlier.client.pump()
                return earlier.isWhole(["ops": 41])
            }
            #expect(isWhole)
            let held = earlier.client.holder("ops")
            earlier.client.disconnect()
            away.kill()
            try write(30, server, url)
            // As if they were of yesterday.
            try server.query("update gapless.changes set at = at - interval '1 day'", in: url)
            try write(5, server, url)

            let trimming = try GatewayProcess(
                settings: settings.merging([
                    "upstream.postgres.retain": "50", "upstream.postgres.retain_marks": "1h",
                ]) { $1 })
            var kept = ""
            let isTrimmed = try Deadline.standard.poll {
                kept = try server.query("select floor, base from gapless.conversations", in: url)
                return kept == "26|71"
            }
            #expect(isTrimmed, "\(kept)")
            try away.start()
            for gateway in [away, trimming] {
                try expectTheLog(gateway, held)
            }
            let epoch = try server.query("select epoch from gapless.conversations", in: url)
            #expect(epoch == held.epoch)
        }

        /// A gateway that is to keep everything takes away what is old of the lists' logs; the
        /// newest of each stays, since tokens name it.
        @Test func theLogsOfListsDoNotGrowForEver() throws {
            let server = try PostgresProcess()
            let url = try server.database()
            try server.query(
                """
                select gapless.put_conversation('c' || n, '{"participants": ["alice"]}')
                from generate_series(1, 20) n;
                update gapless.list_changes set at = at - interval '2 days'
                """, in: url)
            let gateway = try GatewayProcess(
                settings: Faults.settings.merging([
                    "upstream.kind": "postgres", "upstream.postgres.url": url,
                ]) { $1 })
            var left = ""
            let isTrimmed = try Deadline.standard.poll {
                left = try server.query("select count(*) from gapless.list_changes", in: url)
                return left == "1"
            }
            #expect(isTrimmed, "\(left) of 20 rows are left")
            let list = try gateway.api().call("GET", "/v1/conversations?user=alice&limit=100")
            #expect(list["conversations"].array?.count == 20)
        }

        private func write(_ count: Int, _ server: PostgresProcess, _ url: String) throws {
            try server.query(
                "select gapless.post_message('ops', 'shop', '{\"body\": \"order\"}')"
                    + " from generate_series(1, \(count))", in: url)
        }

        private func expectTheLog(_ gateway: GatewayProcess, _ held: Holder) throws {
            let watcher = try Watcher(
                gateway, "alice", ["ops"], before: ["ops": held], expectsLosses: true)
            try watcher.subscribe()
            let isWhole = try Deadline.standard.poll {
                try watcher.client.pump()
                return watcher.isWhole(["ops": 76])
            }
            #expect(isWhole)
            // What is below the floor is gone, and no page brings it.
            try watcher.client.heal("ops", from: 26)
            let page = try gateway.api().page("ops", "limit=1000&order=asc")["messages"]
            #expect(page.array?.count == 50)
            #expect(.array(watcher.client.holder("ops").messages) == page)
        }
    }
}
