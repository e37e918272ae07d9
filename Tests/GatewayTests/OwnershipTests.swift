import Foundation
import TestSupport
import Testing

extension LiveGateway {
    /// A file belongs to one process, and a file that is not what it should be stops the start
    /// with a sentence.
    @Suite struct Ownership {
        @Test func theSecondProcessOnAFileIsRefused() throws {
            let first = try GatewayProcess()
            let client = try first.client("alice")
            try client.request("createConversation", ["id": "ops", "participants": ["alice"]])
            let path = try #require(first.settings["cache.path"])
            let second = try GatewayProcess(settings: ["cache.path": path], starts: false)
            try second.start(waits: false)
            #expect(try second.waitForExit() == 1)
            let lines = second.log.split(separator: "\n")
            #expect(lines.contains { $0.contains(path) && $0.contains("another process") })

            // The first one was not disturbed, and when it is gone the second one may.
            let sent = try client.request(
                "sendMessage", ["conversation": "ops", "id": "m1", "body": "still here"])
            #expect(sent["message"]["seq"] == 1)
            first.kill()
            try second.start()
            let page = try second.client("alice").walkBack("ops") { 10 }
            #expect(page.map { $0["id"] } == ["m1"])
        }

        @Test func aFileHasOneOwnerByWhateverNameItIsCalled() throws {
            let first = try GatewayProcess()
            let path = try #require(first.settings["cache.path"])
            let link = first.directory.appendingPathComponent("link.db").path
            let further = first.directory.appendingPathComponent("further.db").path
            try FileManager.default.createSymbolicLink(
                atPath: link, withDestinationPath: "gapless.db")
            try FileManager.default.createSymbolicLink(atPath: further, withDestinationPath: link)
            for name in [link, further] {
                let second = try GatewayProcess(settings: ["cache.path": name], starts: false)
                try second.start(waits: false)
                #expect(try second.waitForExit() == 1)
                #expect(second.logs(path) && second.logs("another process"))
            }
        }

        @Test func aSuccessorWaitsForTheFileOfAGatewayThatDrains() throws {
            let settings = ["drain.window": "25s"]
            let first = try GatewayProcess(settings: settings)
            let clients = try (0..<4).map { try first.client("user-\($0)") }
            let path = try #require(first.settings["cache.path"])
            let second = try GatewayProcess(settings: ["cache.path": path], starts: false)
            first.signal(SIGTERM)
            let isTold = try Deadline.standard.poll {
                try String(contentsOfFile: path + ".lock", encoding: .utf8)
                    .split(separator: "\n").first == "leaving"
            }
            #expect(isTold)
            try second.start()
            // It listens, so the first one has let go of the file: every client was sent away.
            #expect(try first.waitForExit() == 0)
            for client in clients { #expect(try client.connection.waitForClose() == 3000) }
            #expect(try second.client("user-0").connection.closeCode == nil)
        }

        @Test func aFileThatIsNoneOfOursStopsTheStart() throws {
            let gateway = try GatewayProcess(starts: false)
            let file = gateway.directory.appendingPathComponent("gapless.db")
            try Data(repeating: 0x5A, count: 8192).write(to: file)
            try expectRefusal(gateway, naming: file.path)
            #expect(try Data(contentsOf: file).allSatisfy { $0 == 0x5A }, "it was written to")
        }

        @Test func aFileOfANewerVersionStopsTheStart() throws {
            let gateway = try GatewayProcess()
            let file = gateway.directory.appendingPathComponent("gapless.db")
            #expect(try gateway.terminate() == 0)
            // SQLite keeps the version of a schema in bytes 60 to 63 of the file.
            var bytes = try Data(contentsOf: file)
            bytes.replaceSubrange(60..<64, with: [0, 0, 0xFF, 0xFF])
            try bytes.write(to: file)
            try expectRefusal(gateway, naming: file.path)
        }

        @Test func aDirectoryThatIsNotThereStopsTheStart() throws {
            let path = "/nonexistent/gapless.db"
            let gateway = try GatewayProcess(settings: ["cache.path": path], starts: false)
            try expectRefusal(gateway, naming: path)
        }

        private func expectRefusal(_ gateway: GatewayProcess, naming path: String) throws {
            let before = gateway.log.count
            try gateway.start(waits: false)
            #expect(try gateway.waitForExit() == 1)
            let said = gateway.log.dropFirst(before)
            #expect(said.contains(path), "\(said)")
            #expect(said.split(separator: "\n").count == 1, "\(said)")
        }
    }
}
