import Ports
import Rules
import Wire

/// How many may take part, be admins, and how many conversations somebody may create.
extension RuleCase {
    private static let alice = Caller.user("alice")

    private static func put(_ users: String..., admins: [String]? = nil) -> Operation {
        .put(id: "c1", ConversationFields(participants: users, admins: admins))
    }

    package static let people: [RuleCase] = [
        RuleCase("a conversation has at most limits.participants")
            .limits { $0.participants = 3 }
            .call(put("alice", "b"))
            .call(
                .add("c", "d"),
                .refused(.limitParticipants, naming: ["limits.participants", "4", "3"])
            )
            .call(.add("c"), .conversation { $0.record.participants.count == 3 })
            .call(.add("b"))
            .call(.add("d"), by: alice, .refused(.limitParticipants))
            .call(put("alice", "x", "y", "z"), .refused(.limitParticipants))
            .call(put("alice", "x", "y"))
            .limits { $0.participants = 1 }
            .call(put("alice", "x", "z"))
            .call(put("alice", "x"))
            .call(put("alice", "x", "z"), .refused(.limitParticipants)),
        RuleCase("a conversation has at most limits.admins")
            .limits { $0.admins = 1 }
            .call(put("alice", "b", admins: ["alice"]))
            .call(
                .addAdmins(conversation: "c1", ["b"]), by: alice,
                .refused(.limitAdmins, naming: ["limits.admins", "2", "1"])
            )
            .call(put("alice", "b", admins: ["alice", "b"]), .refused(.limitAdmins))
            .call(put("alice", "b", admins: ["b"]), .conversation { $0.record.admins == ["b"] }),
        RuleCase("a new conversation is held to the numbers")
            .limits {
                $0.participants = 2
                $0.admins = 1
            }
            .call(put("a", "b", "c"), .refused(.limitParticipants))
            .call(put("a", "b", admins: ["a", "b"]), .refused(.limitAdmins))
            .call(
                .create(
                    id: "c1", ConversationFields(participants: ["b", "c"]), distinct: false),
                by: alice, .refused(.limitParticipants)
            )
            .call(.deleteConversation("c1"), .refused(.conversationNotFound)),
        RuleCase("limits.conversations_per_user charges who creates, as long as it is there")
            .limits { $0.conversationsPerUser = 2 }
            .call(
                .create(id: "c1", ConversationFields(participants: ["b"]), distinct: true),
                by: alice
            )
            // What others put one into does not count, whether or not they stay.
            .call(.put(id: "c2", ConversationFields(participants: ["alice"])))
            .call(new("c3", with: "alice"), by: .user("b"))
            .call(.leave("c3"), by: .user("b"))
            .call(new("c4"), by: alice)
            .call(
                new("c5"), by: alice,
                .refused(
                    .limitConversationsPerUser, naming: ["limits.conversations_per_user", "2"])
            )
            .call(
                .create(id: "c5", ConversationFields(participants: ["b"]), distinct: true),
                by: alice, .conversation { $0.record.id == "c1" }
            )
            .call(.put(id: "c5", ConversationFields(participants: ["alice"])))
            // Leaving makes no room, deleting does.
            .call(.leave("c4"), by: alice)
            .call(new("c6"), by: alice, .refused(.limitConversationsPerUser))
            .call(.deleteConversation("c4"), .removed(people: 0))
            .call(new("c6"), by: alice)
            .call(new("c7"), by: alice, .refused(.limitConversationsPerUser))
            .limits { $0.conversationsPerUser = 0 }
            .call(new("c7"), by: alice),
        RuleCase("a distinct call looks at the one that was created so last")
            .call(distinct("c1"), by: alice)
            .call(distinct("c2"), by: alice, .conversation { $0.record.id == "c1" })
            .call(.leave("c1"), by: .user("b"))
            .call(distinct("c2"), by: alice, .conversation { $0.record.id == "c2" })
            .call(.leave("c2"), by: .user("b"))
            .call(.add("b"))
            // However many there were before, and however they are now.
            .call(distinct("c3"), by: alice, .conversation { $0.record.id == "c3" })
            .call(.deleteConversation("c3"), by: alice, .removed(people: 2)),
        RuleCase("who joins again has read what they wrote themselves, and no more")
            .call(put("alice", "b", "c"))
            .call(.send(by: "alice"))
            .call(.send(by: "b"))
            .call(.send(by: "alice"))
            .call(.markRead(conversation: "c1", seq: 3), by: .user("b"))
            .call(.markRead(conversation: "c1", seq: 2), by: .user("c"))
            .call(.leave("c1"), by: .user("b"))
            .call(.remove("c"))
            .call(.add("b", "c"))
            .call(.update("one"), by: .user("b"), has(lastRead: 2, unread: 1))
            .call(.update("two"), by: .user("c"), has(lastRead: 0, unread: 3))
            .call(.markRead(conversation: "c1", seq: 1), by: .user("c"))
            .call(put("alice", "b"))
            .call(put("alice", "b", "c"))
            .call(.update("three"), by: .user("c"), has(lastRead: 0, unread: 3)),
    ]

    private static func new(_ id: String, with others: String...) -> Operation {
        .create(id: id, ConversationFields(participants: others), distinct: false)
    }

    private static func distinct(_ id: String) -> Operation {
        .create(id: id, ConversationFields(participants: ["b"]), distinct: true)
    }

    /// The answer to a change of the record, which shows the caller's own fields.
    private static func has(lastRead: Int, unread: Int) -> Expectation {
        .conversation { $0.reader == ReaderState(lastReadSeq: lastRead, unreadCount: unread) }
    }
}
