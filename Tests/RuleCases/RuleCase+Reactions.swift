import JSON
import Ports
import Rules
import Wire

/// Who may react to what, what a message shows of it, and what it does not move.
extension RuleCase {
    private static let alice = Caller.user("alice")
    private static let bob = Caller.user("bob")

    private static func begin(_ name: String, people: [String] = ["alice", "bob"]) -> RuleCase {
        RuleCase(name)
            .call(.put(id: "c1", ConversationFields(participants: people, admins: ["alice"])))
            .call(.send("m1", "one", by: "alice"))
    }

    /// The message shows these: key, count and the first users.
    private static func shown(
        _ own: [String], _ expected: [(String, Int, [String])], rev: Int, contentRev: Int?
    ) -> Expectation {
        let texts = expected.map { "\($0.0) \($0.1) \($0.2)" }
        return .reacted(own) { message in
            let reactions = message["reactions"]?.array?.compactMap(\.object) ?? []
            let seen = reactions.map { reaction in
                let users = reaction["users"]?.array?.compactMap(\.string) ?? []
                return "\(reaction["key"]?.string ?? "") \(reaction["count"]?.int ?? 0) \(users)"
            }
            return seen == texts && message["rev"]?.int == rev
                && message["contentRev"]?.int == contentRev
                && (message["reactions"] == nil) == expected.isEmpty
        }
    }

    package static let reactions: [RuleCase] = [
        begin("a message shows who reacts, by key in the order in which the keys came")
            .call(.react("+1"), by: bob, shown(["+1"], [("+1", 1, ["bob"])], rev: 3, contentRev: 2))
            .call(
                .react("ha"), by: alice,
                shown(["ha"], [("+1", 1, ["bob"]), ("ha", 1, ["alice"])], rev: 4, contentRev: 2)
            )
            .call(
                .react("+1"), by: alice,
                shown(
                    ["ha", "+1"], [("+1", 2, ["bob", "alice"]), ("ha", 1, ["alice"])], rev: 5,
                    contentRev: 2)
            )
            // Again is no change.
            .call(
                .react("+1"), by: alice,
                shown(
                    ["ha", "+1"], [("+1", 2, ["bob", "alice"]), ("ha", 1, ["alice"])], rev: 5,
                    contentRev: 2)
            )
            .call(
                .react("+1", false), by: bob,
                shown([], [("+1", 1, ["alice"]), ("ha", 1, ["alice"])], rev: 6, contentRev: 2)
            )
            .call(
                .react("+1", false), by: alice,
                shown(["ha"], [("ha", 1, ["alice"])], rev: 7, contentRev: 2)
            )
            // Gone and back: last.
            .call(
                .react("+1"), by: bob,
                shown(["+1"], [("ha", 1, ["alice"]), ("+1", 1, ["bob"])], rev: 8, contentRev: 2)
            )
            .call(.react("+1", false), by: bob)
            .call(.react("ha", false), by: alice, shown([], [], rev: 10, contentRev: 2))
            .call(.react("ha", false), by: alice, shown([], [], rev: 10, contentRev: 2)),
        begin("keys are bytes")
            .call(.react("\u{E9}"), by: alice)
            .call(
                .react("e\u{301}"), by: alice,
                .reacted(["\u{E9}", "e\u{301}"]) { $0["reactions"]?.array?.count == 2 }),
        begin("a reaction is no edit, and an edit keeps reactions")
            .call(.react("+1"), by: bob, .reacted(["+1"]) { $0["editedAt"]?.isNull ?? true })
            .call(
                .edit("m1", "two", ifRev: 2), by: alice,
                .message {
                    $0["rev"]?.int == 4 && $0["reactions"]?.array?.count == 1
                        && $0["contentRev"] == nil
                }
            )
            .call(.react("ha"), by: bob)
            .call(.react("x"), by: bob)
            .call(
                .edit("m1", "three", ifRev: 3), by: alice,
                .conflict { $0["message"]?.object?["contentRev"]?.int == 4 }
            )
            .call(.edit("m1", "three", ifRev: 7), by: alice, .conflict { _ in true })
            .call(.edit("m1", "three", ifRev: 5), by: alice, .message { $0["rev"]?.int == 7 })
            .call(.delete("m1", ifRev: 6), by: alice, .conflict { _ in true })
            .call(
                .delete("m1", ifRev: 7), by: alice,
                .message { $0["reactions"] == nil && $0["contentRev"] == nil }
            )
            .call(.react("+1"), by: bob, .refused(.messageDeleted))
            .call(.react("+1", false), by: bob, .refused(.messageDeleted)),
        begin("participants react for themselves, an admin takes back, the backend does both")
            .call(.react("+1"), by: .user("eve"), .refused(.conversationNotFound))
            .call(.react("+1", to: "none"), by: bob, .refused(.messageNotFound))
            .call(.react("+1", of: "bob"), by: bob, .reacted(["+1"]) { _ in true })
            .call(.react("+1", of: "bob"), by: alice, .refused(.authorNotSelf))
            .call(.react("ha", of: "alice"), .reacted(["ha"]) { _ in true })
            .call(.react("+1", false, of: "alice"), by: bob, .refused(.notAdmin))
            .call(
                .react("+1", false, of: "bob"), by: alice,
                shown(["ha"], [("ha", 1, ["alice"])], rev: 5, contentRev: 2)
            )
            .call(.react("+1", of: "eve"), .refused(.notParticipant))
            .call(.react("+1"), .refused(.userNeeded))
            .call(.react("+1"), by: bob)
            // Who leaves keeps theirs.
            .call(.removeParticipants(conversation: "c1", ["bob"]))
            .call(.react("+1"), by: bob, .refused(.conversationNotFound))
            .call(
                .react("+1"), by: alice,
                .reacted(["ha", "+1"]) {
                    $0["reactions"]?.array?.last?.object?["count"]?.int == 2
                }
            )
            .call(.react("+1", false, of: "bob"), .reacted([]) { _ in true }),
        begin("reactions have limits")
            .limits {
                $0.reactionKeys = 2
                $0.reactions = 3
            }
            .call(.react("a"), by: alice)
            .call(.react("b"), by: alice)
            .call(
                .react("c"), by: bob, .refused(.limitReactionKeys, naming: ["3", "2", "limits."])
            )
            .call(.react("a"), by: bob)
            .call(.react("b"), by: bob, .refused(.limitReactions, naming: ["4", "3", "limits."]))
            .call(.react("a", false), by: bob)
            .call(.react("b"), by: bob)
            .limits { $0.reactionKeys = 100 }
            .call(.react("1"), by: alice).call(.react("2"), by: alice).call(.react("3"), by: alice)
            .call(.react("4"), by: alice).call(.react("5"), by: alice).call(.react("6"), by: alice)
            .call(.react("7"), by: alice, .refused(.limitReactionsOfUser, naming: ["9", "8"])),
        crowded,
    ]

    /// Twelve users, of whom a message names ten: who leaves the first ten is followed by the next.
    private static var crowded: RuleCase {
        let people = (1...12).map { "u\($0)" }
        var rule = begin(
            "a message names the first ten, and counts all", people: people + ["alice"])
        for user in people { rule = rule.call(.react("+1"), by: .user(user)) }
        let first = (1...10).map { "u\($0)" }
        return
            rule
            .call(
                .react("+1", false), by: .user("u12"),
                shown([], [("+1", 11, first)], rev: 15, contentRev: 2)
            )
            .call(
                .react("+1", false), by: .user("u3"),
                shown(
                    [], [("+1", 10, first.filter { $0 != "u3" } + ["u11"])], rev: 16, contentRev: 2)
            )
            .call(
                .react("+1"), by: .user("u3"),
                shown(
                    ["+1"], [("+1", 11, first.filter { $0 != "u3" } + ["u11"])], rev: 17,
                    contentRev: 2))
    }
}
