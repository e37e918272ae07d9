import Postgres
import Testing

/// What errors say comes to each client in its encoding, and to the server's log.
@Suite(.serialized) final class ErrorTextTests {
    let database: Database
    let session: SchemaSession

    init() throws {
        database = try Database()
        session = try database.session()
        try session.run(
            """
            select gapless.put_conversation(
              'c', '{"title": "secret title", "participants": ["alice"]}');
            select gapless.post_message('c', 'alice', '{"id": "m", "body": "secret body"}');
            select gapless.post_message('c', 'alice', '{"id": "gone", "body": "secret other"}');
            select gapless.delete_message('c', 'gone');
            select gapless.put_conversation(U&'\\0446\\3042\\00e9', '{}');
            update gapless.conversations set mark = 'lost' where id = U&'\\0446\\3042\\00e9'
            """)
    }

    /// Calls that are refused, and how.
    private static let refused = [
        ("post_message('c', '', '{\"body\": \"\"}')", "PG400"),
        ("post_message('c', 'a', '{\"body\": \"\", \"id\": 3}')", "PG400"),
        ("add_participants('c', null)", "PG400"),
        ("put_conversation('c', '{\"participants\": [7]}')", "PG400"),
        ("put_conversation('c', '{\"participants\": 7}')", "PG400"),
        (
            "put_conversation('c', jsonb_build_object(U&'\\0446\\3042\\00e9',"
                + " (repeat('[', 40) || repeat(']', 40))::jsonb))", "PG400"
        ),
        ("post_message(U&'\\0446\\3042\\00e9', 'a', '{\"body\": \"\"}')", "XX001"),
        ("messages('c', '{\"order\": \"x\"}')", "PG400"),
        ("edit_message('c', 'm', '{\"body\": \"secret\", \"ifRev\": 1}')", "PG409"),
        ("edit_message('c', 'gone', '{\"body\": \"secret\", \"ifRev\": 1}')", "PG409"),
        ("put_conversation('c', '{\"title\": \"secret\", \"ifRev\": 99}')", "PG409"),
        ("post_message('c', 'alice', '{\"id\": \"m\", \"body\": \"secret\"}')", "PG409"),
    ]

    @Test("keep their code in each encoding", arguments: ["LATIN1", "KOI8R", "SJIS", "UTF8"])
    func encodings(encoding: String) throws {
        try session.run("set client_encoding = '\(encoding)'")
        for (call, state) in Self.refused {
            let refusal = session.refusal(of: "select gapless.\(call)")
            #expect(refusal?.state == state, "\(call): \(refusal?.description ?? "done")")
        }
    }

    @Test("hold no text of a message or a title")
    func secrets() throws {
        for (call, _) in Self.refused {
            let refusal = session.refusal(of: "select gapless.\(call)")
            #expect(refusal?.description.contains("secret") == false, "\(call)")
        }
        let edit = "select gapless.edit_message('c', 'm', '{\"body\": \"b\", \"ifRev\": 1}')"
        #expect(session.refusal(of: edit)?.detail == #"{"message": {"rev": 2, "seq": 1}}"#)
        let put = "select gapless.put_conversation('c', '{\"title\": \"b\", \"ifRev\": 9}')"
        #expect(session.refusal(of: put)?.detail == #"{"conversation": {"rev": 1}}"#)
    }
}
