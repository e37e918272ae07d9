import Foundation
import Glibc
import TestSupport
import Testing

extension LiveGateway {
    /// Nobody but the gateway changes its file while it runs. It notices a process that does so
    /// past SQLite before it acknowledges another write.
    @Suite struct OneWriter {
        /// A gateway with a message, a client that watches, and a copy of the file from before it.
        private struct Scene {
            let gateway: GatewayProcess
            let path: String
            let copy: String
            let client: ChatTestClient

            init(_ launcher: [String] = []) throws {
                gateway = try GatewayProcess(
                    settings: ["page.enabled": "false", "upstream.kind": "embedded"],
                    launcher: launcher)
                path = gateway.directory.appendingPathComponent("gapless.db").path
                copy = path + "-copy"
                try gateway.api().put("ops", ["participants": ["alice"]])
                try gateway.api().post(["author": "alice", "id": "m0", "body": "b"], to: "ops")
                let answer = try SQLiteShell.run(path, ".backup \(copy)")
                #expect(answer.status == 0, "\(answer.text)")
                try gateway.api().post(["author": "alice", "id": "m1", "body": "b"], to: "ops")
                client = try gateway.client("alice")
                try client.subscribe("ops")
            }

            func post(_ id: String) throws {
                try gateway.api(learnsWrites: false).post(
                    ["author": "alice", "id": .string(id), "body": "b"], to: "ops")
            }

            /// What a new client finds.
            func ids() throws -> [JSONValue] {
                try gateway.client("alice").walkBack("ops") { 10 }.map { $0["id"] }
            }
        }

        @Test(arguments: [
            ".restore COPY", "UPDATE conversation SET title = 'theirs'", "DELETE FROM message",
            "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA wal_checkpoint(PASSIVE)",
            "PRAGMA journal_mode = DELETE",
        ])
        func sqlite3CannotChangeTheFile(_ command: String) throws {
            let scene = try Scene()
            let answer = try SQLiteShell.run(
                scene.path, command.replacingOccurrences(of: "COPY", with: scene.copy))
            // A checkpoint that is refused says so by the first of its numbers.
            let isCheckpoint = command.contains("checkpoint")
            #expect(isCheckpoint ? answer.text.hasPrefix("1|") : answer.status != 0)
            // Nothing has changed, and what is acknowledged now is told and kept.
            try scene.post("m2")
            let event = try scene.client.nextEvent("messages")
            #expect(event["deltas"][0]["message"]["id"] == "m2")
            #expect(try scene.gateway.health("/health/ready").status == 200)
            scene.gateway.kill()
            try scene.gateway.start()
            #expect(try scene.ids() == ["m0", "m1", "m2"])
            #expect(try SQLiteShell.run(scene.path, "PRAGMA integrity_check").text == "ok\n")
        }

        @Test(arguments: [".backup COPY2", "VACUUM INTO 'COPY2'", ".dump"])
        func sqlite3CanReadTheFile(_ command: String) throws {
            let scene = try Scene()
            let copy = scene.path + "-second"
            let answer = try SQLiteShell.run(
                scene.path, command.replacingOccurrences(of: "COPY2", with: copy))
            #expect(answer.status == 0, "\(answer.text)")
            if command == ".dump" {
                #expect(answer.text.contains("'m1'"))
            } else {
                #expect(try SQLiteShell.run(copy, "SELECT id FROM message").text == "m0\nm1\n")
            }
            try scene.post("m2")
            #expect(try scene.ids() == ["m0", "m1", "m2"])
        }

        /// What is cut off from the log of writes is gone, and nobody is told anything else.
        @Test(arguments: [0, 4096]) func aLogThatIsCutTakesNoMoreWrites(_ size: Int) throws {
            let scene = try Scene()
            let sizeBefore =
                try FileManager.default
                .attributesOfItem(atPath: scene.path + "-wal")[.size] as? Int
            #expect(try #require(sizeBefore) > size)
            try #require(truncate(scene.path + "-wal", size) == 0)
            #expect(throws: ServerAPI.Refused.self) { try scene.post("m2") }
            let trouble = try scene.gateway.health().json["troubles"][0]
            #expect(trouble["what"].string?.contains("was cut") == true, "\(trouble)")
            #expect(throws: ServerAPI.Refused.self) { try scene.post("m3") }
            // What is read from a file that somebody else has changed could be anything.
            let reader = try scene.gateway.client("alice")
            #expect(throws: ChatTestClient.RequestFailed.self) {
                try reader.request("fetchMessages", ["conversation": "ops"])
            }
            scene.client.disconnect()
            #expect(try scene.gateway.terminate() == 0)
            try scene.gateway.start()
            #expect(try SQLiteShell.run(scene.path, "PRAGMA integrity_check").text == "ok\n")
            // A client that holds what is gone is told so, or that the conversation is gone.
            try scene.client.reconnect()
            do {
                #expect(try scene.client.subscribe("ops")["reset"].bool == true)
            } catch let error as ChatTestClient.RequestFailed {
                #expect(error.code == "not_found")
            }
        }

        /// The content of a log whose name was removed comes into the file at the stop.
        @Test func aLogThatWasRemovedIsBroughtOverAtTheStop() throws {
            let scene = try Scene()
            try FileManager.default.removeItem(atPath: scene.path + "-wal")
            #expect(throws: ServerAPI.Refused.self) { try scene.post("m2") }
            #expect(try scene.gateway.terminate() == 0)
            #expect(try SQLiteShell.run(scene.path, "PRAGMA integrity_check").text == "ok\n")
            try scene.gateway.start()
            #expect(try scene.ids() == ["m0", "m1"])
        }

        /// By a name that has other locks, a log of writes of its own, and another index of it.
        @Test func aSecondGatewayIsRefusedByWhateverNameItHasTheFile() throws {
            let scene = try Scene()
            let second = scene.gateway.directory.appendingPathComponent("second.db").path
            try #require(link(scene.path, second) == 0)
            try expectInUse(second)
            #expect(!FileManager.default.fileExists(atPath: second + ".lock"))
            try FileManager.default.removeItem(atPath: scene.path + ".lock")
            try expectInUse(scene.path)
            try scene.post("m2")
            #expect(try scene.ids() == ["m0", "m1", "m2"])
            scene.gateway.kill()
            try scene.gateway.start()
            #expect(try scene.ids() == ["m0", "m1", "m2"])
        }

        private func expectInUse(_ path: String) throws {
            let other = try GatewayProcess(
                settings: ["cache.path": path, "upstream.kind": "embedded"], starts: false)
            try other.start(waits: false)
            #expect(try other.waitForExit() == 1)
            #expect(other.logs("another process has it open"), "\(other.log)")
        }

        @Test(arguments: ["0", "022", "0777"]) func theFilesAreTheirUsersAlone(_ mask: String)
            throws
        {
            let scene = try Scene(["sh", "-c", "umask \(mask); exec \"$@\"", "sh"])
            for end in ["", "-wal", "-shm", ".lock"] {
                let mode =
                    try FileManager.default
                    .attributesOfItem(atPath: scene.path + end)[.posixPermissions] as? Int
                #expect(mode == 0o600, "\(end)")
            }
        }
    }
}
