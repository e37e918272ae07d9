extension Sentence {
    static let changes: [Sentence] = [
        Sentence(
            "an edit changes what is given",
            .run(#"select gapless.post_message('c', 'a', '{"id": "n", "body": "1", "x": 1}')"#),
            .holds(
                """
                gapless.edit_message('c', 'n', '{"body": null, "metadata": {"k": 1}, "x": null,
                  "y": 2}') @> '{"id": "n", "seq": 2, "rev": 4, "author": "a", "body": null,
                  "metadata": {"k": 1}, "y": 2}'
                """),
            .holds("not gapless.edit_message('c', 'n', '{}') ? 'x'"),
            .holds("gapless.edit_message('c', 'n', '{}') ->> 'editedAt' is not null"),
            .holds("gapless.edit_message('c', 'n', '{\"y\": 2, \"ifRev\": 1}') ->> 'rev' = '4'"),
            .refused(
                #"gapless.edit_message('c', 'n', '{"metadata": null}')"#, "PG400",
                naming: "metadata: null (accepted: an object)"),
            .refused(
                "gapless.edit_message('c', 'none', '{}')", "PG404", naming: "id: no such message"),
            .refused(
                #"gapless.edit_message('c', 'n', '{"body": "2", "ifRev": 3}')"#, "PG409",
                naming: "ifRev: 3, but the message has rev 4"),
            .refused(
                #"gapless.edit_message('c', 'n', '{"ifRev": 1.5}')"#, "PG400",
                naming: "ifRev: 1.5 (accepted: an integer"),
            .refused(
                "gapless.edit_message('c', 'n', jsonb_build_object('body', repeat('x', 40000)))",
                "PG413", naming: "message: would be 40010 bytes of content, at most 32768")),
        Sentence(
            "a deleted message leaves a tombstone",
            .holds(
                """
                gapless.delete_message('c', 'm') - 'createdAt' =
                '{"id": "m", "conversation": "c", "seq": 1, "rev": 3, "author": "alice",
                  "editedAt": null, "deleted": true}'
                """),
            .holds("gapless.delete_message('c', 'm') ->> 'rev' = '3'"),
            .holds("gapless.put_conversation('c', '{}') -> 'lastMessage' = 'null'"),
            .refused(
                #"gapless.edit_message('c', 'm', '{"body": "x"}')"#, "PG409",
                naming: "id: the message is deleted"),
            .refused(
                "gapless.delete_message('c', 'none')", "PG404", naming: "id: no such message")),
    ]

    static let reading: [Sentence] = [
        Sentence(
            "a read marker never moves back, and one's own messages are read",
            .run(#"select gapless.post_message('c', 'bob', '{"body": "2"}')"#),
            .run(#"select gapless.post_message('c', 'alice', '{"body": "3"}')"#),
            .holds("gapless.mark_read('c', 'bob', 0) = 2"),
            .holds("gapless.mark_read('c', 'bob', 3) = 3"),
            .holds("gapless.mark_read('c', 'bob', 1) = 3"),
            .refused(
                "gapless.mark_read('c', 'bob', 4)", "PG400",
                naming: "seq: 4 (accepted: an integer from 0 to 3)"),
            .refused(
                "gapless.mark_read('c', 'bob', -1)", "PG400", naming: "seq: -1 (accepted:"),
            .refused(
                "gapless.mark_read('c', 'zed', 0)", "PG404", naming: "reader: does not take part")),
        Sentence(
            "messages are the latest, or those by an anchor, in the order that is asked for",
            .run(
                "select gapless.post_message('c', 'a', jsonb_build_object('id', 'i' || n, 'body',"
                    + " '')) from generate_series(2, 9) n"),
            .holds(page("{}", "9,8,7,6,5,4,3,2,1")),
            .holds(page(#"{"limit": 2}"#, "9,8")),
            .holds(page(#"{"limit": 2, "order": "asc"}"#, "8,9")),
            .holds(page(#"{"limit": 2, "before": 5}"#, "4,3")),
            .holds(page(#"{"limit": 2, "after": "i5", "order": "asc"}"#, "6,7")),
            .holds(page(#"{"limit": 2, "after": 5}"#, "7,6")),
            .holds(page(#"{"limit": 2, "around": 5}"#, "7,6,5,4,3")),
            .holds(page(#"{"limit": 2, "after": 2, "before": 8}"#, "7,6")),
            .holds(page(#"{"limit": 2, "after": 2, "before": 8, "order": "asc"}"#, "3,4")),
            .holds(page(#"{"limit": 2, "after": {"time": "2001-01-01T00:00:00Z"}}"#, "2,1")),
            .holds(page(#"{"before": {"time": "2001-01-01T00:00:00+01:00"}}"#, "")),
            .holds(page(#"{"after": null, "before": 2}"#, "1"))),
        Sentence(
            "a query that is ill-formed is refused",
            .refused(
                #"gapless.messages('c', '{"limit": 0}')"#, "PG400",
                naming: "limit: 0 (accepted: an integer from 1 to 1000)"),
            .refused(
                #"gapless.messages('c', '{"order": "up"}')"#, "PG400",
                naming: "(accepted: asc, desc)"),
            .refused(
                #"gapless.messages('c', '{"around": 1, "before": 2}')"#, "PG400",
                naming: "around: with before or after"),
            .refused(
                #"gapless.messages('c', '{"after": {"time": "2001-02-30T00:00:00Z"}}')"#, "PG400",
                naming: "after: an object (accepted: a seq, the id of a message, or"),
            .refused(
                #"gapless.messages('c', '{"after": -1}')"#, "PG400", naming: "after: -1"),
            .refused(
                #"gapless.messages('c', '{"before": "none"}')"#, "PG404",
                naming: "before: no such message"),
            .refused("gapless.messages('none', '{}')", "PG404", naming: "conversation: no such"),
            .refused(
                #"gapless.messages('c', '{"before": 1e400}')"#, "PG400",
                naming: "before: 1000000000000000000000000000000000000... (accepted: an integer")),
    ]

    static let sessions: [Sentence] = [
        Sentence(
            "ids are compared by bytes, however the columns of an application are collated",
            .run(
                """
                create table told (
                  c text collate "de-x-icu", u text collate "en-x-icu", m text collate "sv-x-icu");
                insert into told values ('c', 'alice', 'm')
                """),
            .holds("(select gapless.head(c) ->> 'seq' = '1' from told)"),
            .holds("(select count(*) = 1 from told, gapless.messages(c, '{}'))"),
            .holds(
                "(select gapless.post_message(c, u, jsonb_build_object('id', m, 'body', 'hi'))"
                    + " ->> 'seq' = '1' from told)"),
            .holds(#"(select gapless.edit_message(c, m, '{"body": "b"}') is not null from told)"#),
            .holds("(select gapless.mark_read(c, u, 1) = 1 from told)"),
            .holds("(select gapless.add_participants(c, array[u, m]) is not null from told)"),
            .holds("(select gapless.remove_participants(c, array[m]) is not null from told)"),
            .holds("(select gapless.put_conversation(c, '{}') ->> 'rev' = '5' from told)"),
            .holds("(select gapless.delete_message(c, m) ->> 'deleted' = 'true' from told)"),
            .holds("(select gapless.delete_conversation(c) from told)")),
        Sentence(
            "an id that looks the same to a collation is another one",
            .run(
                "create collation alike (provider = icu, locale = 'und-u-ks-level1',"
                    + " deterministic = false)"),
            .refused(
                "gapless.post_message('C' collate alike, 'a', '{\"body\": \"\"}')", "PG404",
                naming: "no such conversation"),
            .holds("gapless.head('C' collate alike) is null")),
        Sentence(
            "what a session is set to changes nothing",
            .run(
                """
                set local standard_conforming_strings = off; set local backslash_quote = off;
                set local quote_all_identifiers = on; set local bytea_output = 'escape';
                set local datestyle = 'SQL, DMY'; set local intervalstyle = 'sql_standard';
                set local timezone = 'Asia/Kolkata'; set local array_nulls = off;
                set local transform_null_equals = on; set local extra_float_digits = -15;
                set local search_path = ''
                """),
            .run("select gapless.post_message('c', 'bob', '{\"id\": \"n\", \"x\": 1.50}')"),
            .holds(page(#"{"before": {"time": "2101-01-01T00:00:00Z"}}"#, "2,1")),
            .holds(page(#"{"before": {"time": "2001-01-01T00:00:00.5+05:30"}}"#, "")),
            .holds("gapless.edit_message('c', 'n', '{\"y\": 2}') ->> 'x' = '1.50'"),
            .refused(
                "gapless.post_message('c', chr(1), '{\"body\": \"\"}')", "PG400",
                naming: "author: a text with a control character")),
    ]

    private static func page(_ query: String, _ seqs: String) -> String {
        """
        (select coalesce(string_agg(m ->> 'seq', ',' order by n), '')
         from gapless.messages('c', '\(query)') with ordinality as t(m, n)) = '\(seqs)'
        """
    }
}
