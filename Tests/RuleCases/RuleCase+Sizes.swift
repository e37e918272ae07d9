import Ports
import JSON
import Rules
import Wire

/// What a value may take is a matter of the value, however many calls made it.
extension RuleCase {
    package static let sizes: [RuleCase] = messageSizes + recordSizes + removals

    private static let alice = Caller.user("alice")

    private static func begin(_ name: String) -> RuleCase {
        RuleCase(name).call(
            .put(
                id: "c1", ConversationFields(participants: ["alice", "bob"], admins: ["alice"])))
    }

    private static func send(_ content: MessageContent) -> Operation {
        .send(conversation: "c1", [NewMessage(author: "alice", content: content)])
    }

    private static func edit(
        body: String?? = nil, metadata: RawJSON? = nil, _ unknown: JSONMember...
    ) -> Operation {
        .edit(
            conversation: "c1", id: "m1",
            MessageEdit(body: body, metadata: metadata, unknown: unknown))
    }

    private static func update(
        title: String?? = nil, metadata: RawJSON? = nil, _ unknown: JSONMember...
    ) -> Operation {
        .update(
            conversation: "c1",
            ConversationFields(title: title, metadata: metadata, unknown: unknown))
    }

    private static func put(title: String?? = nil, _ unknown: JSONMember...) -> Operation {
        .put(id: "c1", ConversationFields(title: title, unknown: unknown))
    }

    private static func text(_ bytes: Int, _ letter: String = "b") -> String {
        String(repeating: letter, count: bytes)
    }

    private static let messageSizes: [RuleCase] = [
        begin("edits can't grow a message beyond limits.message")
            .limits { $0.message = 256 }
            .call(send(MessageContent(id: "m1", body: text(100))), by: alice)
            .call(edit(.text("x1", 100)), by: alice)
            .call(
                edit(.text("x2", 100)), by: alice,
                .refused(.limitMessage, naming: ["limits.message", "256", "308"])
            )
            .call(
                edit(.text("x2", 100)), by: .server,
                .refused(.limitMessage, naming: ["limits.message", "256", "308"])
            )
            .call(edit(body: "c"), by: alice, .message { $0["x1"] != nil && $0["x2"] == nil }),
        begin("the whole of limits.message is accepted, in an edit too")
            .limits { $0.message = 256 }
            .call(send(MessageContent(id: "m1", body: "b")), by: alice)
            .call(edit(body: text(257)), by: alice, .refused(.limitMessage))
            .call(edit(body: text(256)), by: alice),
        begin("a message above a lowered limit may shrink, not grow")
            .call(send(MessageContent(id: "m1", body: text(200))), by: alice)
            .limits { $0.message = 100 }
            .call(edit(body: text(201)), by: alice, .refused(.limitMessage))
            .call(edit(body: text(200, "c")), by: alice)
            .call(edit(body: text(150)), by: alice)
            .call(
                edit(body: text(151)), by: alice,
                .refused(.limitMessage, naming: ["100", "151"])
            )
            .call(edit(body: text(100)), by: alice)
            .call(edit(body: text(101)), by: alice, .refused(.limitMessage)),
        begin("a message has at most limits.unknown_fields")
            .limits { $0.unknownFields = 2 }
            .call(send(MessageContent(id: "m1", unknown: [.text("a", 1), .text("b", 1)])))
            .call(
                edit(.text("c", 1)), by: alice,
                .refused(.limitUnknownFields, naming: ["limits.unknown_fields", "3", "2"])
            )
            .call(edit(.null("a"), .text("c", 1)), by: alice)
            .call(edit(.text("c", 2)), by: alice, .message { $0["a"] == nil && $0["c"] != nil })
            .limits { $0.unknownFields = 1 }
            .call(edit(.text("d", 1)), by: alice, .refused(.limitUnknownFields))
            .call(edit(.null("b"), .text("d", 1)), by: alice)
            .call(edit(.null("c")), by: alice),
    ]

    private static let recordSizes: [RuleCase] = [
        begin("a conversation's record is held to limits.record")
            .limits { $0.record = 256 }
            .call(update(title: text(256)), by: alice)
            .call(
                update(title: text(257)), by: alice,
                .refused(.limitRecord, naming: ["limits.record", "256", "257"])
            )
            .call(update(title: text(200)), by: alice)
            .call(
                update(metadata: RawJSON(unchecked: Array("{\"k\":\"\(text(60))\"}".utf8))),
                by: alice, .refused(.limitRecord, naming: ["limits.record"])
            )
            .call(update(.text("x", 60)), by: alice, .refused(.limitRecord))
            .call(put(title: text(257)), .refused(.limitRecord))
            .call(put(.text("x", 60)), .refused(.limitRecord))
            .call(
                update(.text("x", 10)), by: alice,
                .conversation { $0.record.title == text(200) && $0.record.unknown.count == 1 }),
        begin("a record above a lowered limit may shrink, not grow")
            .call(update(title: text(200)), by: alice)
            .limits { $0.record = 100 }
            .call(update(title: text(201)), by: alice, .refused(.limitRecord))
            .call(put(title: text(201)), .refused(.limitRecord))
            .call(update(title: text(150)), by: alice)
            .call(put(title: text(151)), .refused(.limitRecord))
            .call(.add("carol"), by: alice),
        begin("a new conversation is held to the limits")
            .limits {
                $0.record = 256
                $0.unknownFields = 1
            }
            .call(
                .put(id: "c2", ConversationFields(title: text(257))),
                .refused(.limitRecord, naming: ["limits.record", "256", "257"])
            )
            .call(
                .create(
                    id: "c2",
                    ConversationFields(
                        participants: [], unknown: [.text("a", 1), .text("b", 1)]),
                    distinct: false),
                by: alice, .refused(.limitUnknownFields, naming: ["limits.unknown_fields"])
            )
            .call(.deleteConversation("c2"), .refused(.conversationNotFound)),
        begin("a record has at most limits.unknown_fields")
            .limits { $0.unknownFields = 1 }
            .call(update(.text("a", 1)), by: alice)
            .call(update(.text("b", 1)), by: alice, .refused(.limitUnknownFields))
            .call(
                put(.text("b", 1)),
                .refused(.limitUnknownFields, naming: ["limits.unknown_fields"])
            )
            .call(
                put(.text("b", 1), .null("a")),
                .conversation { $0.record.unknown.map(\.key) == ["b"] }),
    ]

    private static let removals: [RuleCase] = [
        begin("null takes an unknown field of a message away, and is a value in a sent one")
            .call(
                send(MessageContent(id: "m1", body: "b", unknown: [.null("n"), .text("x", 1)])),
                .message { $0["n"]?.isNull == true }
            )
            .call(
                edit(.null("x")), by: alice,
                .message { $0["x"] == nil && $0["n"]?.isNull == true && $0["rev"]?.int == 3 }
            )
            .call(edit(.null("x"), .null("y")), by: alice, .message { $0["rev"]?.int == 3 })
            .call(edit(.null("n")), by: alice, .message { $0["n"] == nil }),
        begin("null takes an unknown field of a conversation away")
            .call(
                update(.text("x", 1), .text("y", 1), .null("z")), by: alice,
                .conversation { $0.record.unknown.map(\.key) == ["x", "y"] }
            )
            .call(
                update(.null("x")), by: alice,
                .conversation { $0.record.unknown.map(\.key) == ["y"] && $0.record.rev == 3 }
            )
            .call(update(.null("x")), by: alice, .conversation { $0.record.rev == 3 })
            .call(put(.null("y")), .conversation { $0.record.unknown.isEmpty })
            .call(
                .put(id: "c3", ConversationFields(unknown: [.null("x"), .text("y", 1)])),
                .conversation { $0.record.unknown.map(\.key) == ["y"] }),
    ]
}
