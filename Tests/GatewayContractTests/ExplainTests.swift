import Foundation
import TestSupport
import Testing

/// `/explain` of the internal listener and `gapless explain`: what became of a message, from its
/// author to the sockets of those who read it.
extension DefaultGateway {
    @Suite struct ExplainTests {
        private func ask(_ query: String) throws -> HTTPConnection.Response {
            try LiveGateway.get().operations().send("GET", "/explain?\(query)")
        }

        @Test func aMessageIsFollowedFromItsAuthorToTheSocketOfItsReader() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice", "bob"])
            let bob = try gateway.client("bob")
            try bob.subscribe(id)
            let alice = try gateway.client("alice")
            _ = try alice.request(
                "sendMessage",
                [
                    "conversation": .string(id), "id": "m/1 é",
                    "body": .string(GatewayTrait.secretWord),
                ])
            _ = try bob.nextEvent("messages")
            let answer = try ask("conversation=\(id)&id=m%2F1%20%C3%A9")
            #expect(answer.status == 200)
            #expect(answer.headers["content-type"] == "application/json")
            let told = answer.json
            #expect(told["fate"] == "told" && told["seq"] == 1 && told["id"] == "m/1 é")
            #expect(told["origin"]["state"] == "present" && told["origin"]["author"] == "alice")
            let steps = (told["steps"].array ?? []).compactMap(\.["what"].string)
            #expect(Set(steps).isSuperset(of: ["accepted", "arrived", "committed", "told"]))
            #expect(told["steps"][0]["user"] == "alice")
            #expect(told["counts"]["written"] == 1 && told["readers"].array?.count == 1)
            let reader = told["readers"][0]
            #expect(reader["user"] == "bob" && reader["fate"] == "written")
            #expect(reader["connected"] == true && reader["subscribed"] == true)
            #expect(!answer.text.contains(GatewayTrait.secretWord))
            #expect(try ask("conversation=\(id)&seq=1").json["id"] == "m/1 é")
            let mine = try ask("conversation=\(id)&seq=1&user=alice").json
            #expect(mine["readers"][0]["fate"] == "not_watching")
        }

        @Test func aMessageOfTheServerAPIIsKnownToo() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 2)
            let answer = try ask("conversation=\(id)&id=m2").json
            #expect(answer["seq"] == 2 && answer["steps"][0]["by"] == "server API")
            let absent = try ask("conversation=\(id)&id=m3").json
            #expect(absent["fate"] == "unknown" && absent["origin"]["state"] == "absent")
        }

        @Test(arguments: [
            ("", "conversation"), ("conversation=c", "seq, id"), ("seq=1", "conversation"),
            ("conversation=c&seq=1&id=m", "seq, id"), ("conversation=c&seq=0", "seq"),
            ("conversation=c&seq=x", "seq"), ("conversation=c&seq=1&format=xml", "format"),
            ("conversation=c&seq=1&user=%00", "user"), ("conversation=%ff&seq=1", "query"),
        ])
        func aQuestionThatIsNoneIsRefusedByName(query: String, field: String) throws {
            let answer = try ask(query)
            #expect(answer.status == 400)
            #expect(answer.json["error"]["message"].string?.hasPrefix("\(field): ") == true)
        }

        @Test func theCommandWritesItForPeople() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 1)
            let address = "listen.internal=127.0.0.1:\(gateway.internalPort)"
            let run = try CommandRun(
                "explain", "--conversation", id, "--seq", "1", "--set", address)
            #expect(run.status == 0)
            let place = "message 1 (id m1) of conversation \(id)\n"
            #expect(run.output.hasPrefix(place + "unwatched: "))
            #expect(run.output.contains("\nthe journal begins at 20"))
            #expect(run.output.contains(" accepted verb=send user=alice by=server API\n"))
            #expect(run.output.hasSuffix("\nno readers\n"))
            let json = try CommandRun(
                "explain", "--conversation", id, "--id", "m1", "--json", "--set", address)
            #expect(json.status == 0 && json.output.hasPrefix("{\"conversation\":"))
            let named = try CommandRun(
                "explain", "--conversation", id, "--id", "m1", "--url",
                "http://127.0.0.1:\(gateway.internalPort)/")
            #expect(named.status == 0 && named.output.hasPrefix(place))
        }

        @Test func theCommandSaysWhatIsWrong() throws {
            let both = try CommandRun("explain", "--conversation", "c", "--seq", "1", "--id", "m")
            #expect(both.status == 2 && both.output.contains("one of --seq and --id"))
            let nobody = try CommandRun(
                "explain", "--conversation", "c", "--seq", "1", "--url", "http://127.0.0.1:1")
            #expect(nobody.status == 1 && nobody.output.contains("http://127.0.0.1:1: no answer"))
            let secret = try CommandRun(
                "explain", "--conversation", "c", "--seq", "1", "--url",
                "http://me:secret@127.0.0.1:1/")
            #expect(secret.status == 1 && secret.output.contains("http://127.0.0.1:1: no answer"))
            #expect(!secret.output.contains("secret"))
        }
    }
}

/// The same behind a password, and without a journal.
@Suite struct ExplainSettingsTests {
    @Test func theCommandShowsThePassword() throws {
        let gateway = try GatewayProcess(starts: false)
        let file = gateway.directory.appendingPathComponent("password")
        try Data("an-operators-password\n".utf8).write(to: file)
        gateway.settings["listen.internal_password_file"] = file.path
        gateway.settings["journal.bytes"] = "0"
        try gateway.start()
        let settings = [
            "--set", "listen.internal=127.0.0.1:\(gateway.internalPort)",
            "--set", "listen.internal_password_file=\(file.path)",
        ]
        let run = try CommandRun(["explain", "--conversation", "c", "--seq", "1"] + settings)
        #expect(run.status == 0 && run.output.contains("there is no journal: journal.bytes is 0"))
        let shut = try CommandRun(
            ["explain", "--conversation", "c", "--seq", "1"] + settings.prefix(2))
        #expect(shut.status == 1 && shut.output.contains("Authorization: Basic"))
    }
}
