import Foundation
import TestSupport
import Testing

extension Faults {
    /// The file of a gateway is overwritten. A cache is put aside and filled anew from Redis, and
    /// nobody loses anything by it; a log is left as it is, and its gateway does not start.
    @Suite struct DamagedCaches {
        private let redis: RedisProcess
        private let gateway: GatewayProcess
        private let posted: [JSONValue]
        private let client: ChatTestClient

        /// A gateway that has ended, a cache of some hundred pages, and a client that holds it all.
        init() throws {
            redis = try RedisProcess()
            gateway = try GatewayProcess(
                settings: Faults.settings.merging([
                    "upstream.redis.url": redis.url, "drain.window": "0s",
                ]) { $1 })
            let api = gateway.api()
            try api.put("c1", ["participants": ["alice"]])
            let body = String(repeating: "a line that fills a page before long ", count: 20)
            posted = try api.post(
                (1...900).map {
                    ["author": "alice", "id": .string("m\($0)"), "body": .string(body)]
                },
                to: "c1")
            client = try gateway.client("alice")
            try client.subscribe("c1", limit: 1000)
            client.disconnect()
            try #require(try gateway.terminate() == 0)
        }

        private var path: String { gateway.directory.appendingPathComponent("gapless.db").path }

        /// Overwrites every page but the first, which says whose file it is.
        private func overwrite(_ path: String) throws {
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            let end = Int(try file.seekToEnd())
            try #require(end > 100 * 4096)
            try file.seek(toOffset: 4096)
            try file.write(contentsOf: Data(repeating: 0xA5, count: end - 4096))
            try file.close()
        }

        private func expectWhole() throws {
            #expect(FileManager.default.fileExists(atPath: path + ".damaged-1"))
            #expect(gateway.logs("put_aside"))
            try client.reconnect()
            let answer = try client.subscribe("c1")
            #expect(answer["reset"] == .null && answer["deltas"] == [])
            #expect(client.holder("c1").messages == posted)
            #expect(try gateway.client("alice").walkBack("c1") { 100 } == posted)
            #expect(try gateway.health().json["status"] == "ok")
        }

        @Test func aDamagedCacheIsPutAsideAtTheStart() throws {
            try overwrite(path)
            try gateway.start()
            try expectWhole()
        }

        @Test func damageFoundWhileRunningEndsTheGatewayAndTheNextBeginsAnew() throws {
            try gateway.start()
            try overwrite(path)
            let reader = try gateway.client("alice")
            _ = try? reader.request(
                "fetchMessages", ["conversation": "c1", "before": 400, "limit": 10])
            #expect(try gateway.waitForExit() == 1)
            try gateway.start()
            try expectWhole()
        }

        @Test func aDamagedLogIsLeftAsItIs() throws {
            let origin = try GatewayProcess(settings: ["page.enabled": "false"])
            try origin.api().put("c1", ["participants": ["alice"]])
            try origin.api().post(
                (1...900).map { ["author": "alice", "body": .string("line \($0)")] }, to: "c1")
            try #require(try origin.terminate() == 0)
            let path = origin.directory.appendingPathComponent("gapless.db").path
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            try file.seek(toOffset: 8192)
            try file.write(contentsOf: Data(repeating: 0xA5, count: 8192))
            try file.close()
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            try origin.start(waits: false)
            #expect(try origin.waitForExit() == 1)
            #expect(origin.logs("gapless backup"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
            #expect(!FileManager.default.fileExists(atPath: path + ".damaged-1"))
        }
    }
}
