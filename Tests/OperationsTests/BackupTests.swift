import Cache
import Foundation
import TestSupport
import Testing

/// `gapless backup`: a copy of a running origin holds what was acknowledged when it was taken, and
/// nothing that was not.
@Suite struct BackupTests {
    @Test func aCopyTakenUnderWritersIsOneMomentOfTheLog() throws {
        let gateway = try GatewayProcess()
        let api = gateway.api()
        try api.put("ops", ["participants": ["alice"]])
        try Self.post(0..<1000, to: "ops", api)
        let port = gateway.port
        let writer = Background<Int> { stop in
            let api = ServerAPI(port: port, apiKey: GatewayProcess.apiKey)
            var count = 1000
            while !stop.isOver {
                try Self.post(count..<count + 20, to: "ops", api)
                count += 20
            }
            return count
        }
        let copies = try (0..<3).map { number in
            let before = try api.page("ops", "limit=1")["head"]["seq"].int ?? 0
            let copy = gateway.directory.appendingPathComponent("copy-\(number).db").path
            let run = try Self.run(gateway, copy)
            #expect(run.status == 0 && run.output.contains("messages of 1 conversations"))
            return (copy, atLeast: before)
        }
        writer.end()
        let written = try writer.join()
        for (copy, atLeast) in copies {
            let files = try FileManager.default.contentsOfDirectory(atPath: gateway.directory.path)
            #expect(!files.contains { $0.contains(".partial") || $0.hasSuffix("db-journal") })
            let permissions = try FileManager.default.attributesOfItem(atPath: copy)[
                .posixPermissions]
            #expect(permissions as? Int == 0o600)
            let restored = try GatewayProcess(settings: ["cache.path": copy])
            let held = try restored.api().page("ops", "after=0&limit=1000")
            let head = held["head"]["seq"].int ?? 0
            #expect(head >= atLeast && head <= written && head % 20 == 0)
            #expect(held["messages"].array?.count == 1000)
            let last = try restored.api().page("ops", "before=\(head + 1)&limit=1")
            #expect(last["messages"][0]["body"] == .string("text \(head - 1)"))
            #expect(try restored.terminate() == 0)
            #expect(try Store(.init(path: copy, origin: "embedded")).audit() == [])
        }
    }

    @Test func whoHoldsWhatTheCopyLacksIsToldToForgetIt() throws {
        let gateway = try GatewayProcess()
        let api = gateway.api()
        try api.put("ops", ["participants": ["alice"]])
        try Self.post(0..<10, to: "ops", api)
        let copy = gateway.directory.appendingPathComponent("copy.db").path
        #expect(try Self.run(gateway, copy).status == 0)
        let kept = try gateway.client("alice").request("subscribeMessages", ["conversation": "ops"])
        try Self.post(10..<20, to: "ops", api)
        let lost = try gateway.client("alice").request("subscribeMessages", ["conversation": "ops"])
        let restored = try GatewayProcess(settings: ["cache.path": copy])
        func resumes(_ held: JSONValue) throws -> Bool {
            let have: JSONValue = [
                "head": held["head"], "asOf": held["asOf"], "runs": held["covers"],
            ]
            let answer = try restored.client("alice").request(
                "subscribeMessages", ["conversation": "ops", "have": have])
            return answer["reset"] != true
        }
        // Before the restored log has changes with those numbers, and after.
        for numbers in [20..<21, 21..<40] {
            #expect(try resumes(kept))
            #expect(try !resumes(lost))
            try Self.post(numbers, to: "ops", restored.api())
        }
        #expect(try resumes(kept))
        #expect(try !resumes(lost))
    }

    @Test func itOverwritesNothingAndTakesNothingElse() throws {
        let gateway = try GatewayProcess()
        let folder = gateway.directory.path
        for (target, setting, words) in [
            ("\(folder)/api-keys", nil, "something is there already"),
            ("\(folder)/none/copy.db", nil, "No such file or directory"),
            ("\(folder)/copy.db", "upstream.kind=redis", "can be filled again"),
            ("\(folder)/copy.db", "cache.path=\(folder)/api-keys", "not a database"),
            ("\(folder)/copy.db", "cache.path=\(folder)/nothing.db", "unable to open"),
        ] {
            let run = try Self.run(gateway, target, setting)
            #expect(run.status == 1 && run.output.contains(words), "\(run.output)")
        }
        #expect(!FileManager.default.fileExists(atPath: "\(folder)/copy.db"))
        #expect(!FileManager.default.fileExists(atPath: "\(folder)/copy.db.partial"))
        #expect(!FileManager.default.fileExists(atPath: "\(folder)/nothing.db"))
    }

    private static func post(_ numbers: Range<Int>, to id: String, _ api: ServerAPI) throws {
        try api.post(
            numbers.map {
                ["id": .string("m\($0)"), "author": "alice", "body": .string("text \($0)")]
            }, to: id)
    }

    private static func run(
        _ gateway: GatewayProcess, _ target: String, _ setting: String? = nil
    ) throws -> (status: Int32, output: String) {
        let log = gateway.directory.appendingPathComponent("backup-\(UUID().uuidString)")
        var words = ["backup", target]
        let path = gateway.settings["cache.path"] ?? ""
        if setting?.hasPrefix("cache.path") != true { words += ["--set", "cache.path=\(path)"] }
        if let setting { words += ["--set", setting] }
        let child = try ChildProcess(GatewayProcess.binary(), words, log: log.path)
        guard Deadline.after(.seconds(60)).poll(until: { child.exitStatus != nil }) else {
            child.kill()
            throw TestFailure("gapless backup still runs at the deadline")
        }
        return (child.exitStatus ?? -1, try String(contentsOf: log, encoding: .utf8))
    }
}
