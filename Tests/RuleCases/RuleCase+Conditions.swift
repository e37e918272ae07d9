import JSON
import Ports
import Rules
import Wire

/// `ifRev`: a change of a value that the caller has seen, or none.
extension RuleCase {
    private static let alice = Caller.user("alice")

    private static func begin(_ name: String) -> RuleCase {
        RuleCase(name)
            .call(
                .put(
                    id: "c1", ConversationFields(participants: ["alice", "bob"], admins: ["alice"]))
            )
            .call(
                .send(
                    conversation: "c1",
                    [
                        NewMessage(
                            author: "alice", content: MessageContent(id: "m1", body: "one"))
                    ]))
    }

    private static func message(_ body: String?, rev: Int) -> Expectation {
        .conflict { current in
            let message = current["message"]?.object
            return message?["rev"]?.int == rev && message?["body"]?.string == body
        }
    }

    private static func conversation(_ title: String?, rev: Int) -> Expectation {
        .conflict { current in
            let conversation = current["conversation"]?.object
            return conversation?["rev"]?.int == rev && conversation?["title"]?.string == title
                && conversation?["head"]?.object != nil
        }
    }

    package static let conditions: [RuleCase] = [
        begin("an edit with ifRev is of the value that was seen, or none")
            .call(.edit("m1", "two", ifRev: 2), by: alice, .message { $0["rev"]?.int == 3 })
            .call(.edit("m1", "three", ifRev: 2), by: alice, message("two", rev: 3))
            .call(.edit("m1", "three", ifRev: 9), by: .server, message("two", rev: 3))
            .call(.edit("m1", "two", ifRev: 2), by: alice, .message { $0["rev"]?.int == 3 })
            .call(.edit("m1", "three", ifRev: 3), by: alice, .message { $0["rev"]?.int == 4 })
            .call(.edit("m1", "four"), by: alice, .message { $0["rev"]?.int == 5 })
            .call(.edit("m1", "five", ifRev: 5), by: .user("bob"), .refused(.notAuthor)),
        begin("a deletion with ifRev is of the value that was seen, but a tombstone is one")
            .call(.edit("m1", "two"), by: alice)
            .call(.delete("m1", ifRev: 2), by: alice, message("two", rev: 3))
            .call(.delete("m1", ifRev: 3), by: alice, .message { $0["rev"]?.int == 4 })
            .call(.delete("m1", ifRev: 3), by: alice, .message { $0["rev"]?.int == 4 })
            .call(.delete("m1", ifRev: 1), by: .server, .message { $0["deleted"]?.bool == true })
            .call(
                .edit("m1", "three", ifRev: 3), by: alice,
                .conflict {
                    let message = $0["message"]?.object
                    return message?["deleted"]?.bool == true && message?["body"] == nil
                }
            )
            .call(.edit("m1", "three"), by: alice, .refused(.messageDeleted)),
        begin("updateConversation with ifRev goes by the rev of slot 0, which membership moves")
            .call(.update("one", ifRev: 1), by: alice, .conversation { $0.record.rev == 3 })
            .call(.update("two", ifRev: 1), by: alice, conversation("one", rev: 3))
            .call(.update("one", ifRev: 1), by: alice, .conversation { $0.record.rev == 3 })
            .call(.add("carol"))
            .call(.update("two", ifRev: 3), by: alice, conversation("one", rev: 4))
            .call(.edit("m1", "later"), by: alice)
            .call(.update("two", ifRev: 4), by: alice, .conversation { $0.record.title == "two" })
            .call(
                .put(id: "c1", ConversationFields(title: "three", ifRev: 4)),
                conversation("two", rev: 6)
            )
            .call(.put(id: "c1", ConversationFields(title: "three", ifRev: 6)))
            .call(
                .put(id: "c2", ConversationFields(title: "three", ifRev: 1)),
                .refused(.conversationNotFound)
            )
            .call(.update("x", ifRev: 7), by: .user("bob"), .refused(.notAdmin))
            .call(.update("x", ifRev: 7), by: .user("eve"), .refused(.conversationNotFound)),
        begin("what is stale is a conflict, also where it would be too large")
            .limits {
                $0.message = 10
                $0.record = 10
            }
            .call(.edit("m1", "longer than ten", ifRev: 1), by: alice, message("one", rev: 2))
            .call(.update("longer than ten", ifRev: 9), by: alice, conversation(nil, rev: 1))
            .call(.edit("m1", "longer than ten", ifRev: 2), by: alice, .refused(.limitMessage)),
    ]
}
