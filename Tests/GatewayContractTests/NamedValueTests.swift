import TestSupport
import Testing

/// `protocol.md` 2: an error names the field, the value and what is accepted. The value is a number
/// or a boolean as it was given, and never a text, in frames, bodies and queries alike.
extension DefaultGateway {
    @Suite struct NamedValueTests {
        private static let secret = GatewayTrait.secretWord

        @Test(
            arguments: [
                ("messages?limit=1001", "limit: 1001 (accepted: an integer, 1…1000)"),
                ("messages?limit=1.0", "limit: 1.0 (accepted: an integer, 1…1000)"),
                ("messages?limit=", "limit: an empty text (accepted: an integer, 1…1000)"),
                ("messages?order=\(secret)", "order: another text (accepted: desc, asc)"),
                ("messages?order=7", "order: 7 (accepted: desc, asc)"),
                (
                    "messages?before=-1",
                    "before: -1 (accepted: a seq, id: and a message id, or time: and a date and"
                        + " time of RFC 3339)"
                ),
                (
                    "changes?since=-1&mark=m",
                    "since: -1 (accepted: an integer, 0…9007199254740991)"
                ),
                (
                    "participants?offset=-1",
                    "offset: -1 (accepted: an integer, 0…9007199254740991)"
                ),
                (
                    "participants?order_by=\(secret)",
                    "order_by: another text (accepted: created_at)"
                ),
            ])
        func aQueryIsRefusedByName(query: String, message: String) throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let answer = try gateway.api().http.send("GET", "/v1/conversations/\(id)/\(query)")
            #expect(answer.status == 400)
            #expect(answer.json["error"]["message"] == .string(message))
        }

        @Test(
            arguments: [
                (["title": 5], "title: 5 (accepted: a string or null)"),
                (["metadata": true], "metadata: true (accepted: an object)"),
                (["participants": .string(secret)], "participants: a string (accepted: an array"),
            ] as [(JSONValue, String)])
        func aBodyIsRefusedByName(body: JSONValue, message: String) throws {
            let api = try LiveGateway.get().api()
            let path = "/v1/conversations/\(LiveGateway.name("c"))"
            let answer = try api.http.send("PUT", path, json: body)
            #expect(answer.status == 400)
            let told = answer.json["error"]["message"].string ?? ""
            #expect(told.hasPrefix(message), "\(told)")
        }

        /// An offset is looked at, whether or not a limit makes it count.
        @Test func anOffsetThatIsNoneIsRefusedInFramesAndQueries() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let client = try gateway.client("alice")
            for offset in [-1, .string(Self.secret), 1.5] as [JSONValue] {
                let params: JSONValue = ["conversation": .string(id), "offset": offset]
                #expect(try client.code("fetchParticipants", params) == "bad_request")
            }
            let all = try client.request(
                "fetchParticipants", ["conversation": .string(id), "offset": 7])
            #expect(all["participants"].column("id") == ["alice"] && all["offset"] == 0)
        }

        /// What is too many in one request is `too_large`, as everywhere.
        @Test func tooManyPeopleInOneRequestAreTooLarge() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"])
            let client = try gateway.client("alice")
            let people = JSONValue.strings((0...1000).map { "p\($0)" })
            #expect(try client.code("createConversation", ["participants": people]) == "too_large")
            for method in ["addParticipants", "removeParticipants", "addAdmins", "removeAdmins"] {
                let params: JSONValue = ["conversation": .string(id), "users": people]
                #expect(try client.code(method, params) == "too_large")
            }
        }
    }
}
