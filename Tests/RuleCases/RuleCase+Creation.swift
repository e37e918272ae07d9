import Ports
import Rules
import Wire

/// Who learns what by creating a conversation, and what a backend is told of it.
extension RuleCase {
    private static let alice = Caller.user("alice")
    private static let bob = Caller.user("bob")
    private static let refusal = RequestError(.idNotOwn, "id: not one's own")

    private static func create(
        _ id: String?, _ others: String..., distinct: Bool = false
    ) -> Operation {
        .create(id: id, ConversationFields(participants: others), distinct: distinct)
    }

    private static func find(_ others: String...) -> Operation {
        .findDistinct(ConversationFields(participants: others), otherwise: refusal)
    }

    package static let creations: [RuleCase] = [
        RuleCase("a taken id is a conflict to those who take part, and forbidden to others")
            .call(create("c1", "carol"), by: alice)
            .call(create("c1"), by: alice, .refused(.conversationIDTaken))
            .call(create("c1"), by: .user("carol"), .refused(.conversationIDTaken))
            .call(create("c1", "alice"), by: bob, .refused(.conversationIDOfOthers))
            .call(
                create("c1", "alice", distinct: true), by: bob, .refused(.conversationIDOfOthers)),
        RuleCase("the distinct conversation is found by a user who may not create one")
            .call(find("bob"), by: alice, .refused(.idNotOwn, naming: ["id"]))
            .call(create("d1", "bob", distinct: true), by: alice)
            .call(find("bob"), by: alice, .conversation { $0.record.id == "d1" })
            .call(find("alice", "alice"), by: bob, .conversation { $0.record.id == "d1" })
            .call(find("bob", "carol"), by: alice, .refused(.idNotOwn))
            .call(find("bob"), by: .user("carol"), .refused(.idNotOwn))
            .call(.add("carol", to: "d1"))
            .call(find("bob"), by: alice, .refused(.idNotOwn)),
        RuleCase("a PUT says which client created the conversation")
            .call(create("c1"), by: alice)
            .call(
                .put(id: "c1", ConversationFields(title: "t")),
                .conversation { $0.createdBy == "alice" && $0.record.title == "t" }
            )
            .call(.put(id: "c1", ConversationFields()), .conversation { $0.createdBy == "alice" })
            .call(.put(id: "c2", ConversationFields()), .conversation { $0.createdBy == nil })
            .call(.put(id: "c2", ConversationFields()), .conversation { $0.createdBy == nil })
            .call(.deleteConversation("c1"))
            .call(.put(id: "c1", ConversationFields()), .conversation { $0.createdBy == nil })
            .call(.put(id: "c1", ConversationFields()), .conversation { $0.createdBy == nil }),
    ]
}
