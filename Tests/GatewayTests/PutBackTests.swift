import Foundation
import TestSupport
import Testing

extension LiveGateway {
    /// A list is confirmed after every restart of the embedded log, and after none that lost some
    /// of what was told of it.
    @Suite struct PutBack {
        private let gateway: GatewayProcess
        private let path: String
        private static let line = "event=log_older"

        init() throws {
            gateway = try GatewayProcess(
                settings: ["page.enabled": "false", "upstream.kind": "embedded"])
            path = gateway.directory.appendingPathComponent("gapless.db").path
            try gateway.api().put("kept", ["participants": ["alice"]])
            try gateway.api().put("deleted", ["participants": ["alice"]])
        }

        private func subscribe(_ client: ChatTestClient, _ token: JSONValue) throws -> JSONValue {
            try client.request("subscribeConversations", ["since": token])
        }

        private func token() throws -> JSONValue {
            let answer = try gateway.client("alice").request("subscribeConversations")
            #expect(answer["conversations"].array?.count == 2)
            return answer["token"]
        }

        private func change() throws {
            try gateway.api().post(["author": "alice", "body": "b"], to: "kept")
            try gateway.api().put("created", ["participants": ["alice"]])
            try gateway.api().deleteConversation("deleted")
        }

        /// As an operator does it: the file alone, the lock stays.
        private func putBack(_ copy: String) throws {
            for end in ["", "-wal", "-shm"] where access(path + end, F_OK) == 0 {
                try FileManager.default.removeItem(atPath: path + end)
            }
            try FileManager.default.copyItem(atPath: copy, toPath: path)
        }

        private func names(_ answer: JSONValue) -> Set<String?> {
            Set((answer["conversations"].array ?? []).map { $0["id"].string })
        }

        enum End: CaseIterable { case stopped, killed }

        @Test(arguments: End.allCases, ["same name", "over it"])
        func aListFromBeforeACopyThatWasPutBackIsReadAgain(_ end: End, _ way: String) throws {
            let token = try token()
            let copy = path + "-copy"
            #expect(try SQLiteShell.run(path, ".backup \(copy)").status == 0)
            try change()
            try finish(end)
            if way == "over it" {
                // Into the file that is there, as `sqlite3` does it.
                #expect(try SQLiteShell.run(path, ".restore \(copy)").status == 0)
            } else {
                try putBack(copy)
            }
            try gateway.start()
            #expect(gateway.logs(Self.line), "\(gateway.log)")
            let client = try gateway.client("alice")
            let answer = try subscribe(client, token)
            #expect(answer["complete"] == false)
            #expect(names(answer) == ["kept", "deleted"])
            // From here on it goes on as any other: also where the numbers are those of before.
            try change()
            #expect(try subscribe(client, token)["complete"] == false)
            try finish(end)
            try gateway.start()
            let next = try gateway.client("alice")
            let later = try subscribe(next, answer["token"])
            #expect(later["complete"] == true && names(later) == ["kept", "created"])
            #expect(later["removed"] == ["deleted"])
            #expect(gateway.log.components(separatedBy: Self.line).count == 2)
        }

        @Test(arguments: End.allCases) func aListGoesOnAfterARestart(_ end: End) throws {
            var token = try token()
            for round in 0..<3 {
                let id = "more-\(round)"
                try gateway.api().put(id, ["participants": ["alice"]])
                try finish(end)
                try gateway.start()
                let answer = try subscribe(try gateway.client("alice"), token)
                #expect(answer["complete"] == true && names(answer) == [id])
                token = answer["token"]
            }
            #expect(!gateway.log.contains(Self.line))
            #expect(!gateway.log.contains("event=log_age_unknown"))
        }

        /// A copy of the newest state has lost nothing.
        @Test func aCopyOfTheNewestStateGoesOn() throws {
            let token = try token()
            let copy = path + "-copy"
            try change()
            #expect(try gateway.terminate() == 0)
            #expect(try SQLiteShell.run(path, ".backup \(copy)").status == 0)
            try putBack(copy)
            try gateway.start()
            let answer = try subscribe(try gateway.client("alice"), token)
            #expect(answer["complete"] == true && answer["removed"] == ["deleted"])
        }

        /// On another machine, or where somebody tidied up, nothing says which copy this is.
        @Test func aListWithoutAWitnessIsReadAgain() throws {
            let token = try token()
            #expect(try gateway.terminate() == 0)
            try FileManager.default.removeItem(atPath: path + ".lock")
            try gateway.start()
            #expect(gateway.logs("event=log_age_unknown"))
            let answer = try subscribe(try gateway.client("alice"), token)
            #expect(answer["complete"] == false && names(answer) == ["kept", "deleted"])
        }

        /// The list was empty, and so is that of the file that took its place.
        @Test func anEmptyListOfAnotherFileIsReadAgain() throws {
            let answer = try gateway.client("bob").request("subscribeConversations")
            #expect(answer["conversations"].array == [])
            try gateway.api().put("bobs", ["participants": ["bob"]])
            #expect(try gateway.terminate() == 0)
            for end in ["", "-wal", "-shm"] where access(path + end, F_OK) == 0 {
                try FileManager.default.removeItem(atPath: path + end)
            }
            try gateway.start()
            let later = try subscribe(try gateway.client("bob"), answer["token"])
            #expect(later["complete"] == false && names(later) == [])
        }

        private func finish(_ end: End) throws {
            switch end {
            case .stopped: #expect(try gateway.terminate() == 0)
            case .killed: gateway.kill()
            }
        }
    }
}
