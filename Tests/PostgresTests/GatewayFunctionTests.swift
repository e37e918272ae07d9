import Postgres
import TestSupport
import Testing

/// The functions of gateways, as the text that they send and get.
@Suite(.serialized) final class GatewayFunctionTests {
    let database: Database
    let session: SchemaSession

    init() throws {
        database = try Database()
        session = try database.session()
        let created = try write(
            #"{"op":"record","c":"c","epoch":null,"title":"T","viewer":"a","createdBy":"a","#
                + #""write":[{"user":"a","admin":true},{"user":"b","name":"B"}]}"#)
        #expect(created == ["done"])
    }

    /// The words that operations are answered with.
    private func write(_ operations: String..., alone: Bool = false) throws -> [String] {
        try session.run(
            "select a ->> 'word' from gapless.gateway_write($1, $2) a",
            ["[\(operations.joined(separator: ","))]", alone ? "t" : "f"]
        ).compactMap { $0[0] }
    }

    private func read(_ question: String) throws -> String {
        try session.run("select gapless.gateway_read($1)", [question]).first?.first.flatMap(\.self)
            ?? ""
    }

    private static func send(
        _ id: String, _ content: String = #"{"body":"x"}"#, to conversation: String = "c",
        by author: String = "a"
    ) -> String {
        #"{"op":"append","c":"\#(conversation)","retainIds":1000,"messages":[{"id":"\#(id)","#
            + #""given":true,"author":"\#(author)","content":\#(content)}]}"#
    }

    @Test("keeps the text that a client sent: order, doubled keys, digits")
    func text() throws {
        let content = #"{"body":"\u00e9","metadata":{"b":1.0,"a":1e2},"unknown":{"q":1,"q":2}}"#
        #expect(try write(Self.send("m", content)) == ["done"])
        #expect(try read(#"{"q":"message","c":"c","id":"m"}"#).contains(content))
        // The same in another order is the same; what is doubled counts as its last.
        let same = #"{"unknown":{"q":2},"metadata":{"a":100,"b":1.0},"body":"é"}"#
        #expect(try write(Self.send("m", same)) == ["done"])
        #expect(try write(Self.send("m", #"{"body":"e"}"#)) == ["taken"])
    }

    @Test(
        "finds what is no jsonb, names its field, and writes the rest",
        arguments: [
            (#"{"body":"a\u0000"}"#, "body"),
            (#"{"body":"\\u0000 is text","metadata":{"a":"\ud800"}}"#, "metadata"),
            (#"{"unknown":{"x":1e999999}}"#, "unknown"),
            (#"{"attachment":{"\udc00":1}}"#, "attachment"),
        ])
    func unstorable(content: String, field: String) throws {
        let rows = try session.run(
            "select a ->> 'word', a ->> 'field' from gapless.gateway_write($1, false) a",
            ["[\(Self.send("1")),\(Self.send("2", content)),\(Self.send("3"))]"])
        #expect(rows == [["done", nil], ["unstorable", field], ["done", nil]])
        #expect(try session.holds("gapless.head('c') ->> 'seq' = '2'"))
    }

    @Test("waits for nothing together, and puts off what follows in the same conversation")
    func locked() throws {
        try session.run("select gapless.put_conversation('d', '{}')")
        let other = try database.session()
        try other.run("begin; select gapless.post_message('c', 'a', '{\"body\": \"1\"}')")
        #expect(
            try write(
                Self.send("1"), Self.send("2", to: "d"), Self.send("3"), Self.send("4", to: "e"))
                == ["locked", "done", "locked", "absent"])
        try session.run("set lock_timeout = '50ms'")
        let refusal = session.refusal(
            of: "select gapless.gateway_write('[\(Self.send("1"))]', true)")
        #expect(refusal?.state == "55P03")
        try other.run("rollback")
        #expect(try write(Self.send("1"), alone: true) == ["done"])
        #expect(try session.holds("gapless.head('c') ->> 'seq' = '1'"))
    }

    @Test("does each operation whole or not at all")
    func apart() throws {
        // A row that something else wrote where the next message is to go.
        try session.run(
            "insert into gapless.trimmed values ('c', 'x', 1, 1, 'a', '', now());"
                + "create function fail() returns trigger language plpgsql as"
                + " $$ begin raise exception using errcode = '23514'; end $$;"
                + "create trigger fail before update on gapless.messages for each row"
                + " execute function fail()")
        #expect(try write(Self.send("1"), Self.send("2")) == ["done", "done"])
        let epoch = try session.value("select gapless.head('c') ->> 'epoch'") ?? ""
        let edit =
            #"{"op":"replace","c":"c","id":"1","epoch":"\#(epoch)","recordRev":1,"rev":2,"#
            + #""kind":"d","content":null}"#
        #expect(try write(Self.send("3"), edit, Self.send("4")) == ["done", "error", "done"])
        #expect(try session.holds("gapless.head('c') ->> 'rev' = '5'"))
        try session.run("drop trigger fail on gapless.messages")
        #expect(try write(edit) == ["done"])
        #expect(try write(edit) == ["stale"])
    }

    @Test("follows a chain, and tells another epoch, a loss, what is forgotten and damage apart")
    func chain() throws {
        _ = try write(Self.send("1"), Self.send("2"), Self.send("3"))
        let marks = try session.run("select mark from gapless.changes order by rev")
            .compactMap { $0[0] }
        let epoch = try session.value("select gapless.head('c') ->> 'epoch'") ?? ""
        func chain(_ rev: Int, _ mark: String, _ epoch: String) throws -> String {
            try read(
                #"{"q":"chain","c":"c","epoch":"\#(epoch)","rev":\#(rev),"mark":"\#(mark)","#
                    + #""limit":100,"bytes":100000}"#)
        }
        let whole = try chain(1, marks[0], epoch)
        #expect(whole.contains(#""revs" : [[2, 1, "\#(marks[1])"],[3, 2, "\#(marks[2])"]"#))
        #expect(try chain(1, marks[0], "other").contains(#""reset" : true"#))
        #expect(try chain(2, marks[0], epoch).contains(#""lost" : true"#))
        #expect(try chain(9, marks[0], epoch).contains(#""lost" : true"#))
        try session.run("delete from gapless.changes where rev = 3")
        #expect(try chain(1, marks[0], epoch).contains(#""word" : "damaged", "part" : "revs""#))
        try session.run("delete from gapless.changes where rev < 4")
        #expect(try chain(1, marks[0], epoch).contains(#""word" : "damaged""#))
        try session.run("update gapless.conversations set base = 3")
        #expect(try chain(1, marks[0], epoch).contains(#""forgotten" : true"#))
    }

    @Test("says that a log is damaged where a row of it is gone")
    func damage() throws {
        _ = try write(Self.send("1"), Self.send("2"), Self.send("3"))
        try session.run("delete from gapless.messages where seq = 2")
        let page = #"{"q":"page","c":"c","limit":10,"bytes":100000,"order":"desc"}"#
        #expect(try read(page).contains(#""word" : "damaged""#))
        #expect(session.refusal(of: "select gapless.messages('c', '{}')")?.state == "XX001")
        try session.run("delete from gapless.messages where seq = 3")
        #expect(try write(Self.send("4")) == ["damaged"])
        #expect(
            session.refusal(of: "select gapless.post_message('c', 'a', '{\"body\": \"x\"}')")?
                .state == "XX001")
        try session.run("delete from gapless.members where user_id = 'b'")
        #expect(try read(#"{"q":"view","c":"c"}"#).contains(#""word" : "damaged""#))
    }

    @Test("passes nothing on as whole where a message is gone, whatever is asked", arguments: 1...3)
    func holes(gone: Int) throws {
        _ = try write(Self.send("1"), Self.send("2"), Self.send("3"), Self.send("4"))
        func isDamaged(_ question: String) throws -> Bool {
            try read(#"{"c":"c","limit":1,"bytes":100000,\#(question)}"#)
                .contains(#""word" : "damaged", "#)
        }
        // What is next to it, or it itself; and what is not.
        let questions = [
            (#""q":"page","before":{"seq":\#(gone + 1)}"#, true),
            (#""q":"page","after":{"seq":\#(gone - 1)}"#, true),
            (#""q":"page","around":{"seq":\#(gone)}"#, true),
            (#""q":"changes","since":\#(gone)"#, true), (#""q":"whole""#, true),
            (#""q":"page","before":{"seq":\#(gone)}"#, false),
            (#""q":"page","after":{"seq":\#(gone)}"#, false),
            (#""q":"page","before":{"seq":1}"#, false),
            (#""q":"page","after":{"seq":99}"#, false),
            (#""q":"changes","since":\#(gone + 1)"#, false),
        ]
        for (question, _) in questions { #expect(try !isDamaged(question), "\(question)") }
        try session.run("delete from gapless.messages where seq = \(gone)")
        for (question, isAboutIt) in questions {
            #expect(try isDamaged(question) == isAboutIt, "\(question)")
        }
    }

    @Test("tells who joined however long the transaction was open")
    func lateEntries() throws {
        let place = try session.value("select gapless.gateway_hello() ->> 'place'") ?? ""
        func listed(_ place: String) throws -> String {
            let users = #""users":["late"],"conversations":["c"]"#
            return try read(#"{"q":"listed","since":\#(place),\#(users)}"#)
        }
        let other = try database.session()
        try other.run(
            "begin; select gapless.add_participants('c', '{late}');"
                + "update gapless.list_changes set at = at - interval '5 minutes'")
        #expect(try listed(place).contains(#""listed" : []"#))
        try other.run("commit")
        #expect(try listed(place).contains(#", "c", true]"#))
        // The place stays below every transaction of the server that is still open, also those of
        // the databases of other tests.
        let isPassed = try Deadline.standard.poll {
            let later = try session.value("select gapless.gateway_hello() ->> 'place'") ?? ""
            return try listed(later).contains(#""listed" : []"#)
        }
        #expect(isPassed)
    }

    @Test("gives both sides of a message no more bytes than a page has")
    func around() throws {
        let text = String(repeating: "x", count: 400)
        for number in 1...40 { _ = try write(Self.send("\(number)", #"{"body":"\#(text)"}"#)) }
        for (anchor, bytes, seqs) in [
            (#"{"seq":20}"#, 5000, 16...25), (#"{"seq":3}"#, 5000, 1...8),
            (#"{"seq":38}"#, 5000, 31...40), (#"{"seq":20}"#, 100, 20...20),
        ] {
            let page = try read(
                #"{"q":"page","c":"c","limit":100,"bytes":\#(bytes),"around":\#(anchor)}"#)
            let found = page.matches(of: #/"seq" : (\d+), "rev" : \d+, "createdAt"/#)
                .compactMap { Int($0.output.1) }
            #expect(found == seqs.reversed(), "around \(anchor), \(bytes) bytes: \(found)")
        }
    }

    @Test("takes a change whose row is gone for damage, and not for another log")
    func lostRow() throws {
        _ = try write(Self.send("1"), Self.send("2"), Self.send("3"))
        let epoch = try session.value("select gapless.head('c') ->> 'epoch'") ?? ""
        let mark = try session.value("select mark from gapless.changes where rev = 3") ?? ""
        func changes(_ since: Int, _ mark: String = "null") throws -> String {
            try read(
                #"{"q":"changes","c":"c","since":\#(since),"mark":\#(mark),"limit":9,"#
                    + #""bytes":9999}"#)
        }
        let damaged = #""word" : "damaged", "part" : "revs""#
        #expect(try changes(3, "\"\(mark)\"").contains(#""word" : "done""#))
        #expect(try changes(3, #""another""#).contains(#""word" : "conflict""#))
        try session.run("delete from gapless.changes where rev = 3")
        #expect(try changes(3, "\"\(mark)\"").contains(damaged))
        #expect(try changes(1).contains(damaged))
        #expect(try changes(3).contains(#""word" : "done""#))
        let epochFork =
            #"{"op":"disown","c":"c","epoch":"\#(epoch)","rev":3,"mark":"\#(mark)","newEpoch":"n"}"#
        #expect(try write(epochFork, alone: true) == ["damaged"])
        #expect(try session.holds("gapless.head('c') ->> 'epoch' = '\(epoch)'"))
        // Where the marks are not kept the messages are counted.
        try session.run(
            "delete from gapless.changes where rev < 4; update gapless.conversations set base = 3")
        #expect(try changes(0).contains(#""word" : "done""#))
        try session.run("delete from gapless.messages where seq = 1")
        #expect(try changes(0).contains(#""word" : "damaged", "part" : "messages""#))
    }

    @Test("trims in small steps, raises the floor, and knows the ids of what is gone")
    func trimming() throws {
        let sends = (1...9).map { Self.send("\($0)") }.joined(separator: ",")
        try session.run("select gapless.gateway_write($1, false)", ["[\(sends)]"])
        let trim = "select gapless.gateway_trim(10, 4, 3600000, 0, 3)"
        #expect(try session.value(trim)?.contains(#""messages" : 3"#) == true)
        #expect(try session.holds("gapless.head('c') ->> 'floor' = '4'"))
        let other = try database.session()
        try other.run("begin; select gapless.post_message('c', 'a', '{\"body\": \"1\"}')")
        #expect(try session.value(trim)?.contains(#""messages" : 0"#) == true)
        try other.run("rollback; begin; \(trim)")
        #expect(try session.value(trim)?.contains(#""word" : "busy""#) == true)
        try other.run("commit")
        #expect(try session.holds("gapless.head('c') ->> 'floor' = '6'"))
        let again = try session.run(
            "select a ->> 'new', a -> 'sent' -> 0 ->> 'trimmed', a -> 'sent' -> 0 ->> 'rev'"
                + " from gapless.gateway_write($1, false) a",
            ["[\(Self.send("2").replacing("1000", with: "3600000"))]"])
        #expect(again == [["0", "true", "3"]])
        #expect(
            try session.holds(
                "gapless.post_message('c', 'a', '{\"id\": \"2\", \"body\": \"x\"}') @>"
                    + " '{\"seq\": 2, \"rev\": 3, \"trimmed\": true}'"))
        let free = Self.send("2", #"{"body":"y"}"#).replacing("1000", with: "0")
        #expect(try write(free) == ["done"])
        try session.run("select gapless.gateway_trim(10, 0, 0, 1, 100)")
        #expect(try session.holds("not exists (select from gapless.trimmed)"))
        #expect(try session.holds("(select base = rev - 1 from gapless.conversations)"))
    }

    @Test("tells of a list what came after a place, even if others were still writing then")
    func lists() throws {
        func ask(_ question: String) throws -> (place: String, mark: String, rest: [String?]) {
            let row = try session.run(
                "select a ->> 'place', a ->> 'mark', a ->> 'word', a ->> 'removed',"
                    + " a #>> '{views,0,id}' from gapless.gateway_read($1) a", [question])[0]
            return (row[0] ?? "", row[1] ?? "", Array(row[2...]))
        }
        let other = try database.session()
        try other.run("begin; select gapless.put_conversation('o', '{\"participants\": [\"b\"]}')")
        try session.run("select gapless.put_conversation('p', '{\"participants\": [\"b\"]}')")
        let start = try ask(#"{"q":"place","user":"b"}"#)
        try other.run("commit")
        func since(_ mark: String) throws -> [String?] {
            try ask(
                #"{"q":"since","user":"b","place":\#(start.place),"mark":"\#(mark)","limit":100}"#
            ).rest
        }
        let found = try since(start.mark)
        #expect(found[0] == "done" && found[1] == "[]")
        try session.run("select gapless.delete_conversation('o')")
        #expect(try since(start.mark)[1] == #"["o"]"#)
        #expect(try since("0123456789abcdef")[0] == "conflict")
    }

    @Test("marks what is read beside a transaction that writes, and keeps disconnects")
    func signals() throws {
        let other = try database.session()
        try other.run("begin; select gapless.post_message('c', 'b', '{\"body\": \"1\"}')")
        try session.run("set lock_timeout = '1s'")
        let answers = try session.run(
            "select a ->> 'word', a ->> 'seq', a ->> 'n' from gapless.gateway_signal($1) a",
            [
                #"[{"s":"read","c":"c","user":"b","seq":0},"#
                    + #"{"s":"read","c":"c","user":"b","seq":1},"#
                    + #"{"s":"read","c":"c","user":"z","seq":0},"#
                    + #"{"s":"disconnect","user":"b","by":"g"}]"#
            ])
        #expect(
            answers == [
                ["done", nil, nil], ["range", "0", nil], ["absent", nil, nil], ["done", nil, "1"],
            ])
        #expect(try read(#"{"q":"disconnects"}"#).contains(#""user" : "b", "back" : false"#))
        try other.run("commit")
    }

    @Test("puts off the marker that an open transaction moves, and no other")
    func lockedMarkers() throws {
        _ = try write(Self.send("1"), Self.send("2"))
        let other = try database.session()
        // One that is there, and one that nobody sees yet.
        try session.run("select gapless.mark_read('c', 'b', 1)")
        try session.run("select gapless.add_participants('c', '{d,e}')")
        try other.run(
            "begin; select gapless.mark_read('c', 'b', 2); select gapless.mark_read('c', 'd', 1)")
        func mark(_ user: String) -> String {
            #"{"s":"read","c":"c","user":"\#(user)","seq":2}"#
        }
        let signal = "select a ->> 'word' from gapless.gateway_signal($1) a"
        let all = "[\(mark("b")),\(mark("e")),\(mark("d"))]"
        #expect(try session.run(signal, [all]) == [["locked"], ["done"], ["locked"]])
        try other.run("rollback")
        #expect(try session.run(signal, [all]) == [["done"], ["done"], ["done"]])
    }

    @Test("gives a log another epoch only where it contradicts what was seen of it")
    func epochFork() throws {
        _ = try write(Self.send("1"))
        let epoch = try session.value("select gapless.head('c') ->> 'epoch'") ?? ""
        func forkEpoch(_ rev: Int, _ mark: String) throws -> String? {
            try session.run(
                "select a ->> 'reason' from gapless.gateway_write($1, true) a",
                [
                    #"[{"op":"disown","c":"c","epoch":"\#(epoch)","rev":\#(rev),"mark":"\#(mark)","#
                        + #""newEpoch":"new\#(rev)"}]"#
                ])[0][0]
        }
        let mark = try session.value("select gapless.head('c') ->> 'mark'") ?? ""
        #expect(try forkEpoch(2, mark) == "")
        try session.run("update gapless.conversations set base = 1")
        #expect(try forkEpoch(1, "x") == "")
        #expect(try forkEpoch(3, "x") == "rewound")
        #expect(try forkEpoch(2, "x") == "")
        #expect(try session.holds("gapless.head('c') ->> 'epoch' = 'new3'"))
    }
}
