import Chat
import JSON
import Ports
import Rules
import Wire

/// To what a message may reply and whom it may mention, what is kept of it, and what counts.
extension RuleCase {
    private static let alice = Caller.user("alice")
    private static let bob = Caller.user("bob")
    private static let carol = Caller.user("carol")

    private static func begin(_ name: String, admins: [String] = ["alice"]) -> RuleCase {
        RuleCase(name)
            .call(
                .put(
                    id: "c1",
                    ConversationFields(participants: ["alice", "bob", "carol"], admins: admins))
            )
            .call(.send("m1", "one", by: "alice"))
    }

    private static func send(
        _ id: String, by author: String = "alice", to reply: String? = nil,
        mentions users: [String] = [], all: Bool = false, asksAdmin: Bool = false
    ) -> Operation {
        .send(
            conversation: "c1",
            [
                NewMessage(
                    author: author,
                    content: MessageContent(
                        id: id, body: "x", replyTo: reply.map { Reply(id: $0) }, mentions: users,
                        mentionAll: all),
                    asksAdmin: asksAdmin)
            ])
    }

    private static func edit(
        _ id: String, mentions users: [String]? = nil, all: Bool? = nil, body: String?? = nil,
        asksAdmin: Bool = false
    ) -> Operation {
        var edit = MessageEdit(body: body, mentions: users, mentionAll: all)
        edit.asksAdmin = asksAdmin
        return .edit(conversation: "c1", id: id, edit)
    }

    /// The message says this of it, as JSON; nil: it has no such field.
    private static func says(
        reply: String? = nil, mentions: String? = nil, all: Bool = false, rev: Int? = nil
    ) -> Expectation {
        .message { message in
            func text(_ name: String) -> String? {
                message[name].map { String(decoding: $0.bytes, as: UTF8.self) }
            }
            return text("replyTo") == reply && text("mentions") == mentions
                && text("mentionAll") == (all ? "true" : nil)
                && (rev == nil || message["rev"]?.int == rev)
        }
    }

    /// What a user has not read: messages, and those that mention the user.
    private static func unread(_ messages: Int, _ mentions: Int, read: Int) -> Expectation {
        .conversation {
            $0.reader
                == ReaderState(
                    lastReadSeq: read, unreadCount: messages, unreadMentions: mentions)
        }
    }

    package static let mentions: [RuleCase] = [
        begin("a reply names a message, with its place where the log knows it")
            .call(send("m2", to: "m1"), by: alice, says(reply: #"{"id":"m1","seq":1}"#))
            .call(send("m3", to: "none"), by: alice, says(reply: #"{"id":"none"}"#))
            .call(send("m4", to: "m4"), by: alice, says(reply: #"{"id":"m4"}"#))
            .call(.delete("m1"), by: alice)
            .call(send("m5", to: "m1"), by: alice, says(reply: #"{"id":"m1","seq":1}"#))
            // It goes with deletion only.
            .call(.edit("m2", "y"), by: alice, says(reply: #"{"id":"m1","seq":1}"#))
            .call(.react("+1", to: "m2"), by: bob)
            .call(.edit("m2", "z"), by: alice, says(reply: #"{"id":"m1","seq":1}"#))
            .call(.delete("m2"), by: alice, says())
            .call(
                .send(
                    conversation: "c1",
                    ["a", "b"].enumerated().map { number, id in
                        NewMessage(
                            author: "alice",
                            content: MessageContent(
                                id: id, body: "x", replyTo: number > 0 ? Reply(id: "a") : nil))
                    })
            )
            .call(.edit("b", "y"), says(reply: #"{"id":"a","seq":6}"#)),
        begin("a message keeps those of its mentions who take part")
            .call(
                send("m2", mentions: ["carol", "eve", "bob", "\u{E9}"]), by: alice,
                says(mentions: #"["carol","bob"]"#)
            )
            .call(send("m3", mentions: ["eve"]), by: alice, says())
            .call(edit("m3", mentions: ["eve"]), by: alice, says(rev: 4))
            .call(edit("m3", mentions: ["bob", "eve"]), by: alice, says(mentions: #"["bob"]"#))
            .call(.edit("m3", "y"), by: alice, says(mentions: #"["bob"]"#, rev: 6))
            .call(edit("m3", mentions: ["bob"]), by: alice, says(mentions: #"["bob"]"#, rev: 6))
            // Who left stays in what was written, and can't be mentioned anew.
            .call(.remove("bob"))
            .call(.edit("m3", "z"), by: alice, says(mentions: #"["bob"]"#))
            .call(edit("m3", mentions: ["bob", "carol"]), by: alice, says(mentions: #"["carol"]"#))
            .call(edit("m3", mentions: []), by: alice, says())
            .call(.react("+1", to: "m2"), by: carol)
            .call(.edit("m2", "y"), by: alice, says(mentions: #"["carol","bob"]"#))
            .call(edit("m2", mentions: ["alice"]), by: carol, .refused(.notAuthor))
            .call(.delete("m2"), by: alice, says())
            .call(edit("m2", mentions: ["alice"]), by: alice, .refused(.messageDeleted)),
        begin("admins mention everybody, and the backend")
            .call(
                send("m2", by: "bob", all: true, asksAdmin: true), by: bob,
                .refused(.notAdmin, naming: ["clients.mention_all"])
            )
            .call(send("m2", by: "bob", all: true), by: bob, says(all: true))
            // What was sent before is answered.
            .call(send("m2", by: "bob", all: true, asksAdmin: true), by: bob, says(all: true))
            .call(send("m3", all: true, asksAdmin: true), by: alice, says(all: true))
            .call(send("m4", by: "eve", all: true), says(all: true))
            .call(send("m5", by: "bob"), by: bob)
            .call(edit("m5", all: true, asksAdmin: true), by: bob, .refused(.notAdmin))
            .call(edit("m5", all: false, asksAdmin: true), by: bob, says(rev: 6))
            .call(edit("m5", all: true), by: bob, says(all: true))
            .call(
                edit("m5", all: true, body: .some("y"), asksAdmin: true), by: bob,
                says(all: true)
            )
            .call(edit("m5", all: false, asksAdmin: true), by: bob, says()),
        begin("where there are no admins everybody mentions everybody", admins: [])
            .call(send("m2", by: "bob", all: true, asksAdmin: true), by: bob, says(all: true))
            .call(send("m3", by: "bob"), by: bob)
            .call(edit("m3", all: true, asksAdmin: true), by: bob, says(all: true)),
        begin("what is the same is what was sent")
            .call(send("m2", to: "none", mentions: ["bob", "eve"]), by: alice)
            .call(
                send("m2", to: "none", mentions: ["bob", "eve"]), by: alice,
                says(reply: #"{"id":"none"}"#, mentions: #"["bob"]"#, rev: 3)
            )
            .call(send("m2", to: "none", mentions: ["bob"]), by: alice, .refused(.messageIDTaken))
            .call(send("m2", mentions: ["bob", "eve"]), by: alice, .refused(.messageIDTaken))
            .call(
                send("m2", to: "m1", mentions: ["bob", "eve"]), by: alice,
                .refused(.messageIDTaken)
            )
            .call(
                send("m2", to: "none", mentions: ["bob", "eve"], all: true), by: alice,
                .refused(.messageIDTaken)
            )
            // Also after an edit, and where others take part.
            .call(edit("m2", mentions: ["carol"]), by: alice)
            .call(.add("eve"))
            .call(
                send("m2", to: "none", mentions: ["bob", "eve"]), by: alice,
                says(reply: #"{"id":"none"}"#, mentions: #"["carol"]"#)
            )
            .call(send("m1"), by: alice, .refused(.messageIDTaken)),
        begin("mentions have a limit, whether or not they take part")
            .limits { $0.mentions = 2 }
            .call(
                edit("m1", mentions: ["x", "y", "z"]), by: alice,
                .refused(.limitMentions, naming: ["3", "2", "limits.mentions"])
            )
            .call(edit("m1", mentions: ["bob", "carol"]), by: alice)
            .limits { $0.mentions = 1 }
            .call(
                edit("m1", mentions: ["carol", "bob"]), by: alice,
                says(mentions: #"["carol","bob"]"#)),
        begin("mentions of others count from where one joined and has read")
            .call(send("m2", mentions: ["bob", "alice"], all: true), by: alice)
            .call(send("m3", mentions: ["bob"]), by: alice)
            .call(send("m4", mentions: ["carol"]), by: alice)
            .call(.update("t1"), by: alice, unread(0, 0, read: 4))
            .call(.removeAdmins(conversation: "c1", ["alice"]))
            .call(.update("t2"), by: bob, unread(4, 2, read: 0))
            .call(edit("m4", mentions: ["bob"]), by: alice)
            .call(.update("t3"), by: bob, unread(4, 3, read: 0))
            .call(edit("m2", all: false), by: alice)
            .call(.update("t4"), by: bob, unread(4, 3, read: 0))
            .call(edit("m2", mentions: []), by: alice)
            .call(.update("t5"), by: bob, unread(4, 2, read: 0))
            .call(.delete("m3"), by: alice)
            .call(.update("t6"), by: bob, unread(3, 1, read: 0))
            .call(.read(3), by: bob)
            .call(.update("t7"), by: bob, unread(1, 1, read: 3))
            .call(.remove("bob"))
            .call(send("m5", all: true), by: alice)
            .call(.add("bob"))
            .call(.update("t8"), by: bob, unread(4, 0, read: 0))
            .call(edit("m1", mentions: ["bob"]), by: alice)
            .call(.update("t9"), by: bob, unread(4, 0, read: 0))
            .call(send("m6", mentions: ["bob"], all: true), by: alice)
            .call(.update("t10"), by: bob, unread(5, 1, read: 0))
            .call(send("m7", by: "bob", mentions: ["bob"]), by: bob)
            .call(.update("t11"), by: bob, unread(0, 0, read: 7)),
    ]
}
