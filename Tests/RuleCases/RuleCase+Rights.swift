import JSON
import Ports
import Rules
import Wire

/// A call that a log refuses, and changes nothing by it.
package struct Refused: Sendable {
    let operation: Operation
    let caller: Caller
    package let reason: RequestError.Reason
    /// The same as a call of an application's function in Postgres, where there is one.
    package let sql: String?

    fileprivate init(
        _ operation: Operation, by caller: Caller, _ reason: RequestError.Reason, sql: String? = nil
    ) {
        self.operation = operation
        self.caller = caller
        self.reason = reason
        self.sql = sql
    }

    /// In `c1` alice is admin, and bob and carol take part; `m1` is bob's, and so was `m2`, a
    /// tombstone. In `c2` dora and emil take part, nobody is admin, and `n1` is dora's.
    fileprivate static let world: [(Operation, Caller)] = [
        (
            .put(
                id: "c1",
                ConversationFields(participants: ["alice", "bob", "carol"], admins: ["alice"])),
            .server
        ),
        (.put(id: "c2", ConversationFields(participants: ["dora", "emil"])), .server),
        (.send("m1", by: "bob"), bob), (.send("m2", by: "bob"), bob),
        (.delete(conversation: "c1", id: "m2"), bob), (.send("n1", by: "dora", to: "c2"), dora),
    ]

    /// The same by an application's functions.
    package static let worldSQL = """
        select gapless.put_conversation(
          'c1', '{"participants": ["alice", "bob", "carol"], "admins": ["alice"]}');
        select gapless.put_conversation('c2', '{"participants": ["dora", "emil"]}');
        select gapless.post_message('c1', 'bob', '{"id": "m1", "body": "x"}');
        select gapless.post_message('c1', 'bob', '{"id": "m2", "body": "x"}');
        select gapless.delete_message('c1', 'm2');
        select gapless.post_message('c2', 'dora', '{"id": "n1", "body": "x"}');
        """

    fileprivate static let alice = Caller.user("alice")
    fileprivate static let bob = Caller.user("bob")
    private static let carol = Caller.user("carol")
    fileprivate static let dora = Caller.user("dora")
    fileprivate static let emil = Caller.user("emil")
    private static let eve = Caller.user("eve")

    /// Where two reasons hold, every log gives the same one.
    package static let all: [Refused] = [
        Refused(.send("m3", by: "bob"), by: eve, .conversationNotFound),
        Refused(.send("m3", by: "bob"), by: carol, .authorNotSelf),
        Refused(.send(conversation: "c1", []), by: eve, .conversationNotFound),
        Refused(.send(conversation: "c1", []), by: bob, .fieldInvalid),
        Refused(.send("m1", by: "carol"), by: carol, .messageIDTaken),
        Refused(.send("m1", "y", by: "bob"), by: bob, .messageIDTaken),
        Refused(
            .send("m1", "y", by: "bob"), by: .server, .messageIDTaken,
            sql: #"post_message('c1', 'bob', '{"id": "m1", "body": "y"}')"#),
        Refused(
            .send("m3", by: "bob", to: "none"), by: .server, .conversationNotFound,
            sql: #"post_message('none', 'bob', '{"id": "m3", "body": "x"}')"#),

        Refused(.edit("m1", "y"), by: eve, .conversationNotFound),
        Refused(.edit("m1", "y"), by: alice, .notAuthor),
        Refused(.edit("m1", "y", ifRev: 99), by: alice, .notAuthor),
        Refused(.edit("m2", "y"), by: carol, .notAuthor),
        Refused(.edit("none", "y"), by: carol, .messageNotFound),
        Refused(.edit("m2", "y", ifRev: 99), by: bob, .messageDeleted),
        Refused(.edit("m1", "y", ifRev: 99), by: bob, .revChanged),
        Refused(
            .edit("m2", "y"), by: .server, .messageDeleted,
            sql: #"edit_message('c1', 'm2', '{"body": "y"}')"#),
        Refused(
            .edit("m1", "y", ifRev: 99), by: .server, .revChanged,
            sql: #"edit_message('c1', 'm1', '{"body": "y", "ifRev": 99}')"#),
        Refused(
            .edit("none", "y"), by: .server, .messageNotFound,
            sql: #"edit_message('c1', 'none', '{"body": "y"}')"#),

        Refused(.delete("m1"), by: carol, .notAuthor),
        Refused(.delete("m2"), by: carol, .notAuthor),
        Refused(.delete("n1", in: "c2"), by: emil, .notAuthor),
        Refused(.delete("none"), by: eve, .conversationNotFound),
        Refused(.delete("m1", ifRev: 99), by: alice, .revChanged),
        Refused(
            .delete("none"), by: .server, .messageNotFound, sql: "delete_message('c1', 'none')"),

        Refused(.read(1), by: eve, .conversationNotFound),
        Refused(.read(3), by: bob, .fieldInvalid, sql: "mark_read('c1', 'bob', 3)"),
        Refused(.read(-1), by: bob, .fieldInvalid, sql: "mark_read('c1', 'bob', -1)"),
        Refused(.read(3), by: .server, .userNeeded),
        Refused(
            .markRead(conversation: "none", seq: 0), by: .server, .conversationNotFound,
            sql: "mark_read('none', 'bob', 0)"),

        Refused(.update("t", ifRev: 99), by: eve, .conversationNotFound),
        Refused(.update("t", ifRev: 99), by: bob, .notAdmin),
        Refused(.update("t", ifRev: 99), by: alice, .revChanged),
        Refused(.add("eve"), by: bob, .notAdmin),
        Refused(.add("bob"), by: bob, .notAdmin),
        Refused(.add("eve"), by: eve, .conversationNotFound),
        Refused(
            .add("eve", to: "none"), by: .server, .conversationNotFound,
            sql: "add_participants('none', '{eve}')"),
        Refused(.remove("carol"), by: bob, .notAdmin),
        Refused(.remove("bob", "carol"), by: bob, .notAdmin),
        Refused(.addAdmins(conversation: "c1", ["bob"]), by: bob, .notAdmin),
        Refused(.addAdmins(conversation: "c1", ["dora"]), by: bob, .notAdmin),
        Refused(.addAdmins(conversation: "c1", ["bob", "dora"]), by: alice, .notParticipant),
        Refused(.removeAdmins(conversation: "c1", ["alice"]), by: bob, .notAdmin),
        Refused(.leave("c1"), by: .server, .userNeeded),
        Refused(.leave("c1"), by: eve, .conversationNotFound),
        Refused(.leave("none"), by: .server, .conversationNotFound),
        Refused(.deleteConversation("c1"), by: bob, .notAdmin),
        Refused(.deleteConversation("c2"), by: dora, .notAdmin),
        Refused(.deleteConversation("c1"), by: eve, .conversationNotFound),

        Refused(.put(id: "none", ConversationFields()), by: eve, .serverOnly),
        Refused(.put(id: "c1", ConversationFields()), by: alice, .serverOnly),
        Refused(
            .put(id: "c1", ConversationFields(admins: ["dora"])), by: .server, .notParticipant,
            sql: #"put_conversation('c1', '{"admins": ["dora"]}')"#),
        Refused(
            .put(id: "c1", ConversationFields(title: "t", ifRev: 99)), by: .server, .revChanged,
            sql: #"put_conversation('c1', '{"title": "t", "ifRev": 99}')"#),
        Refused(
            .put(id: "none", ConversationFields(admins: ["dora"], ifRev: 1)), by: .server,
            .conversationNotFound,
            sql: #"put_conversation('none', '{"admins": ["dora"], "ifRev": 1}')"#),
        Refused(
            .put(id: "none", ConversationFields(admins: ["dora"])), by: .server, .notParticipant,
            sql: #"put_conversation('none', '{"admins": ["dora"]}')"#),
    ]
}

/// Who may what, and in which order that is looked at.
extension RuleCase {
    package static let rights: [RuleCase] = [
        Refused.all.reduce(begin("what is refused changes nothing")) { rule, row in
            rule.call(row.operation, by: row.caller, .refused(row.reason))
        }
        .call(.update("t"), by: Refused.alice, .conversation { $0.head.rev == 5 }),
        begin("what is so already is no change")
            .call(.send("m1", by: "bob"), by: Refused.bob)
            .call(.edit("m1", "x", ifRev: 99), by: Refused.bob)
            .call(.delete("m2", ifRev: 99), by: Refused.bob)
            .call(.delete("m2", ifRev: 99), by: Refused.alice)
            .call(.read(0), by: Refused.bob)
            .call(.add("bob", "alice"), by: Refused.alice)
            .call(.remove("dora"), by: Refused.alice)
            .call(.addAdmins(conversation: "c1", ["alice"]), by: Refused.alice)
            .call(.removeAdmins(conversation: "c1", ["bob", "dora"]), by: Refused.alice)
            .call(
                .put(id: "c1", ConversationFields(admins: ["alice"], ifRev: 99)), by: .server,
                .conversation { $0.head.rev == 4 }),
        begin("what the rights allow is done, and a conversation without admins is everybody's")
            .call(.edit("m1", "y"))
            .call(.delete("m1"), by: Refused.alice, .message { $0["deleted"] != nil })
            .call(.send("m3", by: "eve"))
            .call(.update("t"), by: Refused.alice)
            .call(.add("fred"), by: Refused.alice)
            .call(.remove("fred", "carol"), by: Refused.alice)
            .call(.addAdmins(conversation: "c1", ["bob"]), by: Refused.alice)
            .call(.remove("alice"), by: Refused.bob)
            .call(
                .add("alice"), by: Refused.bob,
                .conversation { $0.record.admins == ["bob"] }
            )
            .call(.remove("alice"), by: Refused.alice)
            .call(.leave("c1"), by: Refused.bob)
            .call(.leave("c1"), by: Refused.bob, .refused(.conversationNotFound))
            .call(.deleteConversation("c1"), .removed(people: 0))
            .call(.update("t", "c2"), by: Refused.emil)
            .call(.add("fred", to: "c2"), by: Refused.emil)
            .call(.removeParticipants(conversation: "c2", ["fred"]), by: Refused.emil)
            .call(.addAdmins(conversation: "c2", ["dora"]), by: Refused.emil)
            .call(.update("u", "c2"), by: Refused.emil, .refused(.notAdmin))
            .call(.removeAdmins(conversation: "c2", ["dora"]), by: Refused.dora)
            .call(.update("u", "c2"), by: Refused.emil)
            .call(.addAdmins(conversation: "c2", ["dora"]))
            .call(.deleteConversation("c2"), by: Refused.dora, .removed(people: 2)),
    ]

    private static func begin(_ name: String) -> RuleCase {
        Refused.world.reduce(RuleCase(name)) { $0.call($1.0, by: $1.1) }
    }
}
