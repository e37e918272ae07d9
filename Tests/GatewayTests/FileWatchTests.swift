import Foundation
import Glibc
import TestSupport
import Testing

extension LiveGateway {
    /// What others do to the file of a gateway that has it open: it is noticed while nobody writes,
    /// and health, metrics and log say what was done and what helps.
    @Suite struct FileWatch {
        enum Deed: String, CaseIterable {
            case removed = "it was removed"
            case replaced = "another file was put in its place"
            case copiedOver = "something else wrote into it"
            case scribbledOn = "something else wrote into it while"
            case withoutLog = "its log of writes (-wal) was removed"
            case withoutIndex = "the index of its log (-shm) was removed"

            func work(on path: String, _ other: String) throws {
                let files = FileManager.default
                switch self {
                case .removed: try files.removeItem(atPath: path)
                case .replaced:
                    guard rename(other, path) == 0 else { throw TestFailure("rename: \(errno)") }
                case .copiedOver:
                    try Self.write(Data(contentsOf: URL(fileURLWithPath: other)), path)
                case .scribbledOn: try Self.write(Data(repeating: 7, count: 65_536), path)
                case .withoutLog: try files.removeItem(atPath: path + "-wal")
                case .withoutIndex: try files.removeItem(atPath: path + "-shm")
                }
            }

            /// Into the file that is there, as `cp` and `dd` do.
            private static func write(_ bytes: Data, _ path: String) throws {
                let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                try file.write(contentsOf: bytes)
                try file.close()
            }
        }

        /// A gateway with a message, and the file of another one.
        private func begin(_ settings: [String: String]) throws -> (GatewayProcess, String, String)
        {
            let own = ["page.enabled": "false"].merging(settings) { $1 }
            let other = try GatewayProcess(settings: ["upstream.kind": "embedded"])
            try other.api().put("else", ["participants": ["bob"]])
            #expect(try other.terminate() == 0)
            let gateway = try GatewayProcess(settings: own)
            try gateway.api().put("ops", ["participants": ["alice"]])
            try gateway.api().post(["author": "alice", "body": "b"], to: "ops")
            let path = try #require(gateway.settings["cache.path"])
            let place = gateway.directory.appendingPathComponent("other.db").path
            let theirs = try #require(other.settings["cache.path"])
            try FileManager.default.copyItem(atPath: theirs, toPath: place)
            return (gateway, path, place)
        }

        private func isReady(_ gateway: GatewayProcess) -> Bool {
            (try? gateway.health("/health/ready").status) == 200
        }

        private func expectTold(_ gateway: GatewayProcess, _ word: String, _ remedy: String) throws
        {
            let isTold = Deadline.after(.seconds(20)).poll { !isReady(gateway) }
            #expect(isTold)
            let health = try gateway.health().json
            #expect(health["status"] == "down" && health["cache"]["writable"] == false)
            let trouble = health["troubles"][0]
            #expect(trouble["what"].string?.contains(word) == true, "\(trouble)")
            #expect(trouble["remedy"].string?.contains(remedy) == true, "\(trouble)")
            #expect(try gateway.metrics()["gapless_cache_writable"] == 0)
            #expect(gateway.logs(word) && gateway.logs(remedy))
        }

        @Test(arguments: Deed.allCases, ["embedded", "redis"])
        func whatIsDoneToTheFileIsNoticed(_ deed: Deed, _ kind: String) throws {
            let redis = kind == "redis" ? try LinkedRedis() : nil
            let settings = redis?.directSettings ?? [:]
            let (gateway, path, other) = try begin(settings.merging(["upstream.kind": kind]) { $1 })
            #expect(isReady(gateway))
            try deed.work(on: path, other)
            try expectTold(gateway, deed.rawValue, "restore a backup")
        }

        /// A tool that only touches the file, or reads it, harms nobody.
        @Test func aFileThatIsTouchedIsTheSame() throws {
            let (gateway, path, _) = try begin(["upstream.kind": "embedded"])
            utimes(path, nil)
            #expect(try gateway.api().post(["author": "alice", "body": "b"], to: "ops") != .null)
            #expect(!Deadline.after(.seconds(3)).poll { !isReady(gateway) })
        }

        /// What a process does that has begun a transaction and does not end it.
        @Test(arguments: ["embedded", "redis"])
        func aLockOfAnotherProcessIsSaid(_ kind: String) throws {
            let redis = kind == "redis" ? try LinkedRedis() : nil
            let settings = redis?.directSettings ?? [:]
            let (gateway, path, _) = try begin(settings.merging(["upstream.kind": kind]) { $1 })
            let shared = open(path + "-shm", O_RDWR | O_CLOEXEC)
            try #require(shared >= 0)
            // SQLite's lock for the writer: the gateway has it for as long as it runs.
            var lock = flock(
                l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 120, l_len: 1, l_pid: 0)
            #expect(fcntl(shared, F_SETLK, &lock) == -1 && errno == EAGAIN)
            gateway.kill()
            try #require(fcntl(shared, F_SETLK, &lock) == 0)
            try gateway.start(waits: false)
            #expect(try gateway.waitForExit() == 1)
            #expect(gateway.logs("locking protocol (SQLITE_PROTOCOL"), "\(gateway.log)")
            close(shared)
            try gateway.start()
            try gateway.api().post(["author": "alice", "body": "b"], to: "ops")
        }
    }
}
