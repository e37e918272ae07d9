import TestSupport
import Testing

/// `clients.*`: what clients may write, and that nothing is learnt by what they may not.
@Suite struct WritePolicyTests {
    @Suite(.gateway(["clients.create": "own"]))
    struct Own {
        @Test func idsOfOthersAreForbiddenWhetherTheyExistOrNot() throws {
            let gateway = try LiveGateway.get()
            let taken = try gateway.conversation(of: ["bob"])
            let user = LiveGateway.name("alice")
            let client = try gateway.client(user)
            let errors = [taken, "nobody-has-this", "bob:1", "\(user):1:2", "\(user):"].map {
                id -> ChatTestClient.RequestFailed? in
                #expect(throws: ChatTestClient.RequestFailed.self) {
                    try client.request(
                        "createConversation", ["id": .string(id), "participants": []])
                }
            }
            #expect(Set(errors).count == 1 && errors[0]?.code == "forbidden")
            #expect(try create(client, nil) == "ok")
            #expect(try create(client, "\(user):1") == "ok")
            #expect(try create(client, "\(user):1") == "conflict")
        }

        @Test func theDistinctOneThatIsThereIsAnswered() throws {
            let gateway = try LiveGateway.get()
            let users = ["a", "b"].map(LiveGateway.name)
            let first = try gateway.client(users[0])
            let second = try gateway.client(users[1])
            #expect(try create(first, "of-others", with: [users[1]], distinct: true) == "forbidden")
            #expect(try create(first, nil, with: [users[1]], distinct: true) == "ok")
            #expect(try create(second, "of-others", with: [users[0]], distinct: true) == "ok")
        }

        @Test func aPutSaysWhichClientCreatedIt() throws {
            let gateway = try LiveGateway.get()
            let user = LiveGateway.name("alice")
            #expect(try create(gateway.client(user), "\(user):1") == "ok")
            let path = "/v1/conversations/\(user):1"
            let put = try gateway.api().http.send("PUT", path, json: ["title": "t"])
            #expect(put.status == 200 && put.json["conversation"]["createdBy"] == .string(user))
            let read = try gateway.api().http.send("GET", path)
            #expect(read.json["conversation"]["createdBy"].isNull)
            let own = try gateway.conversation(of: ["bob"])
            let again = try gateway.api().http.send(
                "PUT", "/v1/conversations/\(own)", json: [:])
            #expect(again.status == 200 && again.json["conversation"]["createdBy"].isNull)
        }
    }

    @Suite(.gateway(["clients.create": "no", "clients.send": "no", "clients.edit": "no"]))
    struct No {
        @Test func nothingIsLookedUp() throws {
            let gateway = try LiveGateway.get()
            let id = try gateway.conversation(of: ["alice"], messages: 1)
            let client = try gateway.client("alice")
            for conversation in [id, "nobody-has-this"] {
                let place = JSONValue.string(conversation)
                #expect(try create(client, conversation) == "forbidden")
                #expect(
                    try client.code("sendMessage", ["conversation": place, "body": "b"])
                        == "forbidden")
                #expect(
                    try client.code(
                        "editMessage", ["conversation": place, "id": "m", "body": "b"])
                        == "forbidden")
                #expect(
                    try client.code("deleteMessage", ["conversation": place, "id": "m"])
                        == "forbidden")
            }
            #expect(try create(client, nil) == "forbidden")
            #expect(try create(client, nil, with: ["bob"], distinct: true) == "forbidden")
            // All else goes on.
            let read: JSONValue = ["conversation": .string(id), "seq": 1]
            #expect(try client.code("markRead", read) == "ok")
            let title: JSONValue = ["conversation": .string(id), "title": "t"]
            #expect(try client.code("updateConversation", title) == "ok")
        }
    }
}

private func create(
    _ client: ChatTestClient, _ id: String?, with others: [String] = [], distinct: Bool = false
) throws -> String {
    var params: JSONValue = [
        "participants": .strings(others), "distinct": .bool(distinct),
    ]
    if let id { params["id"] = .string(id) }
    return try client.code("createConversation", params)
}
