extension Sentence {
    private static let enabled = Step.run(
        "update gapless.settings set value = 102 where name = 'enabled'")

    static let mentions: [Sentence] = [
        Sentence(
            "replies and mentions are refused until gapless enable",
            .refused(
                #"gapless.post_message('c', 'alice', '{"body": "x", "replyTo": "m"}')"#, "PG403",
                naming: "enable 1.2"),
            .refused(
                #"gapless.post_message('c', 'alice', '{"body": "x", "mentions": ["bob"]}')"#,
                "PG403", naming: "enable 1.2"),
            .refused(
                #"gapless.edit_message('c', 'm', '{"mentionAll": true}')"#, "PG403",
                naming: "enable 1.2"),
            .holds(
                #"gapless.post_message('c', 'alice', '{"body": "x", "mentions": []}')"#
                    + " ->> 'seq' = '2'")),
        Sentence(
            "a message says to what it replies, and whom it mentions of those who take part",
            enabled,
            .holds(
                """
                gapless.post_message('c', 'alice', '{"id": "r", "body": "x", "replyTo": "m",
                  "mentions": ["eve", "bob", "bob"]}') @>
                '{"replyTo": {"id": "m", "seq": 1}, "mentions": ["bob"]}'
                """),
            .holds(
                """
                gapless.post_message('c', 'bob', '{"body": "x", "replyTo": "none",
                  "mentionAll": true, "mentions": ["eve"]}')
                  - array['id', 'createdAt', 'metadata', 'attachment', 'editedAt', 'conversation']
                = '{"seq": 3, "rev": 4, "author": "bob", "body": "x", "deleted": false,
                  "replyTo": {"id": "none"}, "mentionAll": true}'
                """),
            .holds(
                "(select count(*) from gapless.mentions where user_id in ('', 'bob')) = 2")),
        Sentence(
            "what is the same is what was sent",
            enabled,
            .run(
                #"select gapless.post_message('c', 'alice', '{"id": "r", "body": "x","#
                    + #" "mentions": ["eve", "bob"]}')"#),
            .holds(
                #"gapless.post_message('c', 'alice', '{"id": "r", "body": "x","#
                    + #" "mentions": ["eve", "bob"]}') -> 'mentions' = '["bob"]'"#),
            .refused(
                #"gapless.post_message('c', 'alice', '{"id": "r", "body": "x","#
                    + #" "mentions": ["bob"]}')"#, "PG409", naming: "taken"),
            .holds(
                #"gapless.post_message('c', 'alice', '{"id": "m", "body": "hi"}') ->> 'seq' = '1'"#)
        ),
        Sentence(
            "an edit changes what it names",
            enabled,
            .run(
                #"select gapless.post_message('c', 'alice', '{"id": "r", "body": "x","#
                    + #" "replyTo": "m", "mentions": ["bob"]}')"#),
            .holds(
                #"gapless.edit_message('c', 'r', '{"body": "y"}') @> '{"rev": 4,"#
                    + #" "replyTo": {"id": "m"}, "mentions": ["bob"]}'"#),
            .holds(
                #"gapless.edit_message('c', 'r', '{"mentions": ["bob", "eve"]}') ->> 'rev' = '4'"#),
            .holds(
                #"gapless.edit_message('c', 'r', '{"mentions": [], "mentionAll": true}') @>"#
                    + #" '{"rev": 5, "mentionAll": true}'"#),
            .holds("(select string_agg(user_id, ' ') from gapless.mentions) = ''"),
            .holds(
                #"not gapless.edit_message('c', 'r', '{"mentionAll": false}')"#
                    + " ?| array['mentions', 'mentionAll']"),
            .holds("(select count(*) from gapless.mentions) = 0"),
            .run(#"select gapless.edit_message('c', 'r', '{"mentions": ["bob"]}')"#),
            .run("select gapless.delete_message('c', 'r')"),
            .holds("(select count(*) from gapless.mentions) = 0")),
        Sentence(
            "mentions are well-formed, and few",
            enabled,
            .refused(
                #"gapless.post_message('c', 'alice', '{"body": "x", "replyTo": 7}')"#, "PG400",
                naming: "replyTo: 7 (accepted: 1-255 bytes"),
            .refused(
                #"gapless.post_message('c', 'alice', '{"body": "x", "mentions": "bob"}')"#,
                "PG400", naming: "mentions: a string (accepted: an array"),
            .refused(
                #"gapless.edit_message('c', 'm', '{"mentionAll": "yes"}')"#, "PG400",
                naming: "mentionAll: a string (accepted: true or false)"),
            .refused(
                "gapless.post_message('c', 'alice', jsonb_build_object('body', 'x', 'mentions',"
                    + " (select jsonb_agg('u' || n) from generate_series(1, 51) n)))", "PG413",
                naming: "mentions: 51 users, at most 50 are accepted (limits.mentions)"),
            .refused(
                #"gapless.post_message('c', 'alice', '{"mentions": ["bob"]}')"#, "PG400",
                naming: "body: missing"),
            .run("delete from gapless.mentions"),
            .run("select gapless.delete_conversation('c')")),
    ]
}
