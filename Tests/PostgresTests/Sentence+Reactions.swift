extension Sentence {
    private static let enabled = Step.run(
        "update gapless.settings set value = 102 where name = 'enabled'")

    static let reactions: [Sentence] = [
        Sentence(
            "reactions are refused until gapless enable",
            .refused("gapless.react('c', 'bob', 'm', '+1', true)", "PG403", naming: "enable 1.2")),
        Sentence(
            "a message shows who reacts, which is no edit",
            enabled,
            .holds(
                """
                gapless.react('c', 'bob', 'm', '+1', true) @> '{"id": "m", "seq": 1, "rev": 3,
                  "contentRev": 2, "editedAt": null,
                  "reactions": [{"key": "+1", "count": 1, "users": ["bob"]}]}'
                """),
            .holds("gapless.react('c', 'bob', 'm', '+1', true) ->> 'rev' = '3'"),
            .holds(
                """
                gapless.react('c', 'alice', 'm', 'ha', true) -> 'reactions' =
                  '[{"key": "+1", "count": 1, "users": ["bob"]},
                    {"key": "ha", "count": 1, "users": ["alice"]}]'
                """),
            .holds(
                """
                gapless.react('c', 'bob', 'm', '+1', false) -> 'reactions' =
                  '[{"key": "ha", "count": 1, "users": ["alice"]}]'
                """),
            .holds("gapless.react('c', 'bob', 'm', '+1', false) ->> 'rev' = '5'"),
            .holds("not gapless.react('c', 'alice', 'm', 'ha', false) ? 'reactions'"),
            .holds(#"gapless.edit_message('c', 'm', '{"body": "2", "ifRev": 2}') ->> 'rev' = '7'"#),
            .holds("not gapless.react('c', 'bob', 'm', 'x', false) ? 'contentRev'"),
            .refused(
                #"gapless.edit_message('c', 'm', '{"body": "3", "ifRev": 5}')"#, "PG409",
                naming: "ifRev: 5")),
        Sentence(
            "who takes part reacts, to what is there",
            enabled,
            .refused(
                "gapless.react('c', 'eve', 'm', 'k', true)", "PG404",
                naming: "reactor: does not take part"),
            .refused(
                "gapless.react('c', 'bob', 'none', 'k', true)", "PG404",
                naming: "id: no such message"),
            .refused(
                "gapless.react('c', 'bob', 'm', repeat('k', 65), true)", "PG400",
                naming: "key: a string of 65 bytes"),
            .run("select gapless.react('c', 'bob', 'm', 'k', true)"),
            .run("select gapless.remove_participants('c', '{bob}')"),
            .holds("gapless.react('c', 'bob', 'm', 'k', false) ->> 'reactions' is null"),
            .run("select gapless.react('c', 'alice', 'm', 'k', true)"),
            .run("select gapless.delete_message('c', 'm')"),
            .holds("(select count(*) from gapless.reactions) = 0"),
            .refused(
                "gapless.react('c', 'alice', 'm', 'k', true)", "PG409", naming: "deleted")),
        Sentence(
            "a message names ten users of a key, and counts all",
            enabled,
            .run(
                """
                select gapless.add_participants('c', array(select 'u' || n
                  from generate_series(1, 12) n));
                select gapless.react('c', 'u' || n, 'm', 'k', true) from generate_series(1, 12) n
                """),
            .holds(
                """
                gapless.react('c', 'u3', 'm', 'k', false) #> '{reactions,0}' =
                  '{"key": "k", "count": 11, "users":
                    ["u1", "u2", "u4", "u5", "u6", "u7", "u8", "u9", "u10", "u11"]}'
                """),
            .holds("gapless.react('c', 'u12', 'm', 'k', false) #>> '{reactions,0,count}' = '10'")),
        Sentence(
            "reactions have limits",
            enabled,
            .run("update gapless.settings set value = 2 where name = 'limits.reaction_keys'"),
            .run("update gapless.settings set value = 3 where name = 'limits.reactions'"),
            .run("select gapless.react('c', 'alice', 'm', k, true) from unnest('{a,b}'::text[]) k"),
            .refused(
                "gapless.react('c', 'bob', 'm', 'c', true)", "PG413",
                naming: "limits.reaction_keys"),
            .run("select gapless.react('c', 'bob', 'm', 'a', true)"),
            .refused(
                "gapless.react('c', 'bob', 'm', 'b', true)", "PG413", naming: "limits.reactions"),
            .run("update gapless.settings set value = 99 where name = 'limits.reaction_keys'"),
            .run("update gapless.settings set value = 99 where name = 'limits.reactions'"),
            .run(
                """
                select gapless.react('c', 'bob', 'm', k, true)
                  from unnest('{1,2,3,4,5,6,7}'::text[]) k
                """),
            .refused("gapless.react('c', 'bob', 'm', '8', true)", "PG413", naming: "9th")),
    ]
}
