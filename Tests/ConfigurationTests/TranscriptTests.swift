@testable import Commands
import JSON
import Testing
import TestSupport

/// Logs as people have them.
@Suite struct TranscriptTests {
    private func transcript(_ text: String, bodyLimit: Int = 1000) throws -> Transcript {
        try Transcript(Array(text.utf8), name: "log", bodyLimit: bodyLimit)
    }

    /// `author: body` of each message.
    private func messages(_ transcript: Transcript) throws -> [String] {
        try transcript.entries.map { entry in
            let object = try JSONObject(entry.content)
            return "\(object["author"]?.string ?? "?"): \(object["body"]?.string ?? "?")"
        }
    }

    @Test(
        arguments: [
            ("[07:04] <nick> text", .message(author: "nick", text: "text", time: "07:04")),
            ("[07:04:59] <nick> text", .message(author: "nick", text: "text", time: "07:04:59")),
            ("<nick> text", .message(author: "nick", text: "text", time: nil)),
            (
                "[07:04] <n|ck[]\\`^{}-_> a",
                .message(author: "n|ck[]\\`^{}-_", text: "a", time: "07:04")
            ),
            (
                "[07:04] <nick> <other> text",
                .message(author: "nick", text: "<other> text", time: "07:04")
            ),
            ("[07:04] <nick>text", .message(author: "nick", text: "text", time: "07:04")),
            (
                "[07:04] <nick>   indented ",
                .message(author: "nick", text: "  indented ", time: "07:04")
            ),
            (
                "[07:04] <nick> === not a join",
                .message(author: "nick", text: "=== not a join", time: "07:04")
            ),
            (
                "[07:04] <nick> * not an emote",
                .message(author: "nick", text: "* not an emote", time: "07:04")
            ),
            ("[07:04] <nick> text\r", .message(author: "nick", text: "text", time: "07:04")),
            ("[07:04]  * nick does it", .emote(author: "nick", text: "does it", time: "07:04")),
            ("[07:04] * nick does it", .emote(author: "nick", text: "does it", time: "07:04")),
            ("* nick does it", .emote(author: "nick", text: "does it", time: nil)),
            ("=== nick [n=n@host] has joined #ubuntu", .system),
            ("[07:04] === nick is now known as other", .system),
            ("[07:04] *** nick has quit IRC", .system),
            ("[07:04] <nick> ", .message(author: "nick", text: "", time: "07:04")),
            ("[07:04] <nick>   ", .message(author: "nick", text: "  ", time: "07:04")),
            ("[07:04] * nick ", .emote(author: "nick", text: "", time: "07:04")),
            ("[07:04] <nick>", .blank), ("[07:04] * nick", .blank), ("[07:04] <nick>\r", .blank),
            ("[07:04] <z[1] > text", .message(author: "z[1] ", text: "text", time: "07:04")),
            ("[07:04] <> text", .unknown), ("[07:04] < > text", .unknown),
            ("[07:04] <nick text", .unknown),
            ("[7:04] <nick> text", .unknown), ("[07:04", .unknown), ("[07:04]", .unknown),
            ("[] <nick> text", .unknown), ("[ab:cd] <nick> text", .unknown), ("text", .unknown),
            ("--- Log opened", .unknown), ("", .blank),
        ] as [(String, IRCLine)])
    func aLineIsToldByItsForm(_ text: String, _ line: IRCLine) {
        #expect(IRCLine(text) == line)
    }

    @Test func aLogIsItsMessagesInOrder() throws {
        let transcript = try transcript(
            """
            === zoe has joined #x
            [07:04] <zoe> héllo

            [07:04]  * ann waves
            [07:05] <zoe>
            junk
            [07:05] <zoe> bye
            """)
        #expect(try messages(transcript) == ["zoe: héllo", "ann: waves", "zoe: bye"])
        #expect(transcript.authors == ["zoe", "ann"])
        #expect(transcript.entries.map(\.line) == [2, 4, 7])
        #expect(transcript.tally == Transcript.Tally(system: 1, empty: 1, unknown: 1))
    }

    @Test func aNickThatCanBeNoUserIsCounted() throws {
        let long = String(repeating: "x", count: 256)
        let transcript = try transcript(
            "[07:04] <a\tb> x\n[07:04] <\(long)> x\n[07:04]  * \u{7F} x\n[07:04] <ok> fine")
        #expect(try messages(transcript) == ["ok: fine"])
        #expect(transcript.tally == Transcript.Tally(unknown: 3))
    }

    @Test func whatAMessageCarriesIsInItsObject() throws {
        let transcript = try transcript("[07:04] * ann says \"hi\"")
        let content = String(decoding: transcript.entries[0].content, as: UTF8.self)
        #expect(
            content == #"{"id":"log:1","author":"ann","body":"says \"hi\"","#
                + #""metadata":{"time":"07:04","emote":true}}"#)
    }

    @Test func invalidUTF8IsRepairedAndCounted() throws {
        let bytes = Array("[07:04] <a> x".utf8) + [0xE9] + Array("y\n[07:04] <a> z\u{8}".utf8)
        let transcript = try Transcript(bytes, name: "log", bodyLimit: 1000)
        #expect(try messages(transcript) == ["a: x\u{FFFD}y", "a: z\u{8}"])
        #expect(transcript.tally == Transcript.Tally(repaired: 1))
    }

    @Test func aLongBodyIsCutAtACharacterAndCounted() throws {
        let transcript = try transcript("<a> aéé\n<a> aé\n<a> a", bodyLimit: 4)
        #expect(try messages(transcript) == ["a: aé", "a: aé", "a: a"])
        #expect(transcript.tally == Transcript.Tally(cut: 1))
    }

    @Test func ndjsonIsKnownByItsFirstLineAndPassedOn() throws {
        let transcript = try transcript(
            """

            {"author":"ann","body":"hi","metadata":{"a":[1.50]},"colour":"red"}
              {"id":"own","author":"bob","body":null}
            """)
        let contents = transcript.entries.map { String(decoding: $0.content, as: UTF8.self) }
        #expect(
            contents == [
                #"{"id":"log:2","author":"ann","body":"hi","metadata":{"a":[1.50]},"#
                    + #""colour":"red"}"#,
                #"{"id":"own","author":"bob","body":null}"#,
            ])
        #expect(transcript.authors == ["ann", "bob"])
    }

    @Test(arguments: [
        ("{\"author\":\"a\"}\n{\"author\":", 2, "not a JSON object"),
        ("{\"author\":\"a\"}\n\n[1]", 3, "not a JSON object"),
        ("{\"body\":\"x\"}", 1, "author: missing"), ("{\"author\":7}", 1, "author: missing"),
        ("{\"author\":\"\"}", 1, "author: missing"),
        ("{\"author\":\"a\\u0000\"}", 1, "author: missing"),
        ("", 1, "no message"), ("junk\nmore\n", 3, "no message"),
        ("=== nobody speaks", 1, "no message"),
    ])
    func aFileThatIsNoLogIsNamedByItsLine(_ text: String, _ line: Int, _ reason: String) {
        let error = #expect(throws: Transcript.LineError.self) { try transcript(text) }
        #expect(error?.line == line)
        #expect(error?.reason.hasPrefix(reason) == true, "\(error?.reason ?? "")")
    }

    @Test func randomBytesNeverBreakTheReader() {
        let seed: UInt64 = 17
        var generator = SplitMix64(seed: seed)
        let pieces = [
            "[", "07:04", "] ", "<", "nick", "> ", "* ", "=== ", "\n", "\r", "é", "\u{FEFF}",
        ]
        for _ in 0..<5000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...20, using: &generator) {
                bytes += pieces.randomElement(using: &generator).map { Array($0.utf8) } ?? []
                if Int.random(in: 0..<8, using: &generator) == 0 {
                    bytes.append(UInt8.random(in: 0...255, using: &generator))
                }
            }
            guard let transcript = try? Transcript(bytes, name: "log", bodyLimit: 5) else {
                continue
            }
            for entry in transcript.entries {
                #expect(throws: Never.self, "seed \(seed)") { try JSONObject(entry.content) }
            }
        }
    }
}
