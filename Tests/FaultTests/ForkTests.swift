import TestSupport
import Testing

extension Faults {
    /// A log is put back while its feed goes on, and grows past its old end before anybody looks.
    /// No connection ends, so only the changes themselves can show it.
    @Suite struct Forks {
        /// How Redis is put back under its clients.
        enum Way: String, CaseIterable, CustomTestStringConvertible {
            /// The server loads the file that it saved before.
            case reloaded
            /// The server copies an older one, and is master again.
            case copied
            /// The keys of the conversation are restored from their dumps.
            case restored

            var testDescription: String { rawValue }
        }

        @Test(arguments: Way.allCases)
        func whatIsLostUnderALivingFeedIsForgottenByEverybody(_ way: Way) throws {
            for run in 0..<Faults.scale { try pass(way, run) }
            Faults.report("fork, \(way.rawValue): \(Faults.scale) runs, 0 wrong values at rest")
        }

        private func pass(_ way: Way, _ run: Int) throws {
            let place: Comment = "\(way.rawValue), run \(run)"
            let redis = try RedisProcess(["--enable-debug-command", "yes"], keeping: .nothing)
            let settings = Faults.settings.merging([
                "upstream.redis.url": redis.url, "sync.verify_interval": "3s",
            ]) { $1 }
            let gateways = try (0..<2).map { _ in try GatewayProcess(settings: settings) }
            let api = gateways[0].api()
            try api.put("c1", ["participants": ["alice", "bob"]])
            for text in ["one", "two", "three"] { try say(text, api) }
            let watchers = try zip(gateways, ["alice", "bob"]).map { gateway, user in
                let client = try gateway.client(user)
                try client.subscribe("c1")
                return client
            }
            let older = try keep(way, redis)
            for text in ["lost 0", "lost 1"] { try say(text, api) }
            for watcher in watchers {
                #expect(try watcher.wait { $0.holder("c1").messages.count == 5 }, place)
            }
            let have = watchers[0].holder("c1")

            try putBack(way, redis, older)
            // More than were lost: the next number is above all that anybody has seen.
            for number in 0..<(2 + run % 3) {
                _ = Deadline.standard.poll { (try? say("new \(number)", api)) != nil }
            }
            let truth = try texts(of: api)
            #expect(truth.prefix(3) == ["one", "two", "three"], place)
            #expect(!truth.contains { $0.hasPrefix("lost") }, place)
            for watcher in watchers {
                let isRight = try watcher.wait(.after(.seconds(10))) { client in
                    let holder = client.holder("c1")
                    if !holder.isSubscribed { try client.subscribe("c1") }
                    return texts(of: client) == truth
                }
                #expect(isRight, "\(place): \(texts(of: watcher)), the log has \(truth)")
            }
            // New clients, and clients that come back with what was lost, at either gateway.
            for gateway in gateways {
                let new = try gateway.client("bob")
                try new.subscribe("c1")
                #expect(texts(of: new) == truth, "\(place): a new client")
                let returned = try gateway.client("alice")
                returned.hold(have, of: "c1")
                #expect(try returned.subscribe("c1")["reset"] == true, "\(place): a resume")
                #expect(texts(of: returned) == truth, "\(place): a resume")
            }
            // Nothing of the lost branch is left in a cache.
            gateways[1].kill()
            try gateways[1].start()
            let after = try gateways[1].client("bob")
            try after.subscribe("c1")
            #expect(texts(of: after) == truth, "\(place): after a restart")
            for gateway in gateways {
                #expect(try gateway.health().json["accounting"]["error"] == 0, place)
            }
        }

        @discardableResult
        private func say(_ text: String, _ api: ServerAPI) throws -> JSONValue {
            try api.post(["author": "alice", "body": .string(text)], to: "c1")
        }

        private func texts(of client: ChatTestClient) -> [String] {
            client.holder("c1").messages.compactMap { $0["body"].string }
        }

        private func texts(of api: ServerAPI) throws -> [String] {
            let page = try api.page("c1", "limit=100&order=asc")
            return (page["messages"].array ?? []).compactMap { $0["body"].string }
        }

        // MARK: - Ways

        /// Keeps the present state.
        /// - Returns: the older server, where it is one.
        private func keep(_ way: Way, _ redis: RedisProcess) throws -> RedisProcess? {
            switch way {
            case .reloaded: try redis.ask("SAVE")
            case .restored:
                let script = """
                    for _, key in ipairs(redis.call('KEYS', '*c1*')) do
                      redis.call('SET', 'copy of ' .. key, redis.call('DUMP', key))
                    end
                    """
                try redis.ask("EVAL", script, "0")
            case .copied:
                let older = try RedisProcess(keeping: .nothing)
                try older.ask("REPLICAOF", "127.0.0.1", "\(redis.port)")
                let isCopied = Deadline.standard.poll {
                    (try? older.info("replication"))?["master_link_status"] == "up"
                }
                try #require(isCopied)
                try older.ask("REPLICAOF", "NO", "ONE")
                return older
            }
            return nil
        }

        private func putBack(_ way: Way, _ redis: RedisProcess, _ older: RedisProcess?) throws {
            switch way {
            case .reloaded: try redis.ask("DEBUG", "RELOAD", "NOSAVE")
            case .restored:
                let script = """
                    for _, copy in ipairs(redis.call('KEYS', 'copy of *')) do
                      local dump = redis.call('GET', copy)
                      redis.call('RESTORE', copy:sub(9), 0, dump, 'REPLACE')
                    end
                    """
                try redis.ask("EVAL", script, "0")
            case .copied:
                guard let older else { return }
                try redis.ask("REPLICAOF", "127.0.0.1", "\(older.port)")
                let isCopied = Deadline.standard.poll {
                    (try? redis.info("replication"))?["master_link_status"] == "up"
                }
                try #require(isCopied)
                try redis.ask("REPLICAOF", "NO", "ONE")
            }
        }
    }
}
