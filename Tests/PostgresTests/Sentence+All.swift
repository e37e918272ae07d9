/// Each sentence of `deploy/reference/postgres.md` about the functions of an application.
extension Sentence {
    static let all: [Sentence] =
        records + people + messages + changes + reactions + mentions + reading + sessions

    private static let records: [Sentence] = [
        Sentence(
            "put creates a conversation, and answers with the record",
            .holds(
                """
                gapless.put_conversation('n', '{"title": "N", "participants": ["b", "a", "b"],
                  "admins": ["a"], "metadata": {"k": 1}, "x": [null]}') @>
                '{"id": "n", "title": "N", "participants": ["b", "a"], "participantCount": 2,
                  "admins": ["a"], "metadata": {"k": 1}, "x": [null], "rev": 1,
                  "lastMessage": null, "head": {"seq": 0, "rev": 1, "floor": 1}}'
                """),
            .holds("(gapless.head('n') ->> 'epoch') <> (gapless.head('c') ->> 'epoch')")),
        Sentence(
            "an absent key stays, a null takes the value away",
            .run(#"select gapless.put_conversation('c', '{"x": 1, "y": 2}')"#),
            .holds(
                """
                gapless.put_conversation('c', '{"title": null, "x": null, "z": null}')
                  - array['head', 'updatedAt', 'createdAt', 'lastMessage'] =
                '{"id": "c", "title": null, "participants": ["alice", "bob"], "metadata": {},
                  "participantCount": 2, "admins": ["alice"], "rev": 4, "y": 2}'
                """)),
        Sentence(
            "what changes nothing is no change",
            .holds(
                """
                gapless.put_conversation('c', '{"title": "T", "participants": ["bob", "alice"],
                  "gone": null, "ifRev": 99}') #>> '{head,rev}' = '2'
                """)),
        Sentence(
            "what is ill-formed is refused, with field, value and what is accepted",
            .refused(
                #"gapless.put_conversation('c', '{"metadata": null}')"#, "PG400",
                naming: "metadata: null (accepted: an object)"),
            .refused(
                #"gapless.put_conversation('c', '{"title": 5}')"#, "PG400",
                naming: "title: 5 (accepted: a string or null)"),
            .refused(
                #"gapless.put_conversation('c', '{"participants": null}')"#, "PG400",
                naming: "participants: null (accepted: an array"),
            .refused(
                #"gapless.put_conversation('c', '{"participants": ["a", 7]}')"#, "PG400",
                naming: "participants[1]: 7 (accepted: 1-255 bytes"),
            .refused(
                "gapless.put_conversation('', '{}')", "PG400",
                naming: "id: an empty text (accepted: 1-255 bytes"),
            .refused(
                "gapless.put_conversation(repeat('é', 128), '{}')", "PG400",
                naming: "id: a text of 256 bytes"),
            .refused(
                "gapless.put_conversation(U&'a\\0085', '{}')", "PG400",
                naming: "id: a text with a control character"),
            .refused("gapless.put_conversation('c', '[]')", "PG400", naming: "changes: an array"),
            .holds("gapless.put_conversation(repeat('é', 127) || 'e', '{}') is not null")),
        Sentence(
            "admins must take part",
            .refused(
                #"gapless.put_conversation('c', '{"admins": ["carol"]}')"#, "PG400",
                naming: "admins: not a participant")),
        Sentence(
            "limits hold the result, and let what is above them shrink",
            .run("update gapless.settings set value = 10 where name = 'limits.record'"),
            .refused(
                #"gapless.put_conversation('c', '{"title": "01234567890"}')"#, "PG413",
                naming: "would be 11 bytes of title, metadata and unknown fields, at most 10"),
            .run("update gapless.settings set value = 0 where name = 'limits.record'"),
            .run(#"select gapless.put_conversation('c', '{"title": ""}')"#),
            .run("update gapless.settings set value = 1 where name = 'limits.participants'"),
            .refused(
                "gapless.add_participants('c', array['x'])", "PG413",
                naming: "participants: would be 3, at most 1 are accepted (limits.participants)"),
            .run("select gapless.remove_participants('c', array['bob'])"),
            .run("update gapless.settings set value = 0 where name = 'limits.admins'"),
            .refused(
                #"gapless.put_conversation('d', '{"participants": ["a"], "admins": ["a"]}')"#,
                "PG413", naming: "admins: would be 1, at most 0")),
        Sentence(
            "ifRev makes a change conditional, and the conflict shows the value",
            .refused(
                #"gapless.put_conversation('c', '{"title": "X", "ifRev": 9}')"#, "PG409",
                naming: "ifRev: 9, but the conversation has rev 1"),
            .refused(
                #"gapless.put_conversation('new', '{"ifRev": 1}')"#, "PG404",
                naming: "conversation: no such"),
            .run(#"select gapless.put_conversation('c', '{"title": "X", "ifRev": 1}')"#)),
        Sentence(
            "delete says whether there was one, and a new one has another epoch",
            .run("create temp table was as select gapless.head('c') ->> 'epoch' as epoch"),
            .holds("gapless.delete_conversation('c')"),
            .holds("not gapless.delete_conversation('c')"),
            .holds("gapless.head('c') is null"),
            .run("select gapless.put_conversation('c', '{}')"),
            .holds("gapless.head('c') ->> 'epoch' <> (select epoch from was)"),
            .holds("(select count(*) from gapless.messages('c', '{}')) = 0")),
    ]

    private static let people: [Sentence] = [
        Sentence(
            "participants come in and go, in order",
            .holds(
                """
                gapless.add_participants('c', array['carol', 'bob', 'carol']) -> 'participants' =
                '["alice", "bob", "carol"]'
                """),
            .holds(
                """
                gapless.remove_participants('c', array['alice', 'zed']) @>
                '{"participants": ["bob", "carol"], "admins": [], "rev": 4}'
                """),
            .holds("gapless.remove_participants('c', array['zed']) ->> 'rev' = '4'"),
            .refused(
                "gapless.add_participants('none', array['a'])", "PG404",
                naming: "conversation: no such"),
            .refused(
                "gapless.add_participants('c', array['a', null])", "PG400",
                naming: "users[1]: NULL")),
        Sentence(
            "more than 100 participants are left out, and counted",
            .holds(
                """
                (select not r ? 'participants' and r ->> 'participantCount' = '102'
                 from gapless.add_participants(
                   'c', array(select 'u' || n from generate_series(1, 100) n)) r)
                """)),
        Sentence(
            "a user who joins has read nothing; one who only becomes admin keeps the place",
            .run("select gapless.add_participants('c', array['carol'])"),
            .holds(
                """
                gapless.put_conversation('c', '{"admins": ["carol", "alice"]}') -> 'admins' =
                '["alice", "carol"]'
                """)),
    ]

    private static let messages: [Sentence] = [
        Sentence(
            "a message has the next seq and rev, and all its fields",
            .holds(
                """
                gapless.post_message('c', 'zoe', '{"id": "n", "body": "", "attachment": {"u": 1},
                  "metadata": {}, "x": null, "seq": 77}') - 'createdAt' =
                '{"id": "n", "conversation": "c", "seq": 2, "rev": 3, "author": "zoe", "body": "",
                  "attachment": {"u": 1}, "metadata": {}, "x": null, "editedAt": null,
                  "deleted": false}'
                """),
            .holds(
                """
                (select m ->> 'createdAt' ~ '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$'
                 from gapless.messages('c', '{"limit": 1}') m)
                """)),
        Sentence(
            "the same author, id and content again is that message as it is now",
            .holds(
                "gapless.post_message('c', 'alice', '{\"body\": \"hi\", \"id\": \"m\"}') ->> 'rev'"
                    + " = '2'"),
            .run(#"select gapless.edit_message('c', 'm', '{"body": "ho"}')"#),
            .holds(
                #"gapless.post_message('c', 'alice', '{"id": "m", "body": "hi", "metadata": {}}')"#
                    + " ->> 'body' = 'ho'"),
            .refused(
                #"gapless.post_message('c', 'alice', '{"id": "m", "body": "ho"}')"#, "PG409",
                naming: "id: taken by another message"),
            .refused(
                #"gapless.post_message('c', 'bob', '{"id": "m", "body": "hi"}')"#, "PG409",
                naming: "id: taken by another message"),
            .holds("gapless.head('c') ->> 'seq' = '1'")),
        Sentence(
            "a message needs something, and keeps the limits",
            .refused(
                "gapless.post_message('c', 'alice', '{\"id\": \"x\"}')", "PG400",
                naming: "body: missing (accepted: a body, an attachment or metadata)"),
            .refused(
                #"gapless.post_message('c', 'alice', '{"body": "x", "attachment": []}')"#, "PG400",
                naming: "attachment: an array (accepted: an object or null)"),
            .refused(
                #"gapless.post_message('c', 'alice', '{"body": "x", "id": 3}')"#, "PG400",
                naming: "id: 3 (accepted: 1-255 bytes"),
            .refused(
                "gapless.post_message('c', 'alice', jsonb_build_object('body',"
                    + " repeat('x', 32769)))", "PG413",
                naming: "message: 32769 bytes of content, at most 32768 are accepted"),
            .refused(
                "gapless.post_message('c', 'alice', (select jsonb_object_agg('k' || n, 1)"
                    + " from generate_series(1, 101) n))", "PG413",
                naming: "unknown fields: 101 of them, at most 100"),
            .refused(
                "gapless.post_message('c', 'alice', jsonb_build_object('x',"
                    + " (repeat('[', 33) || repeat(']', 33))::jsonb))", "PG400",
                naming: "x: nests deeper than 32 levels"),
            .run(
                "select gapless.post_message('c', 'alice', jsonb_build_object('x',"
                    + " (repeat('[', 32) || repeat(']', 32))::jsonb))"),
            .refused(
                #"gapless.post_message('none', 'alice', '{"body": "x"}')"#, "PG404",
                naming: "conversation: no such conversation")),
    ]
}
