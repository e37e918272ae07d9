import Chat
import Foundation
import JSON
import TestSupport
import Testing
import Wire

/// A message's way into its text and back.
@Suite struct EncodedMessageTests {
    @Test func hasTheFieldsInTheOrderOfTheProtocol() {
        let message = EncodedMessage.encode(
            id: "m", conversation: "c", seq: 42, rev: 57, author: "alice", body: "hi",
            attachment: nil, metadata: nil, createdAt: Timestamp(milliseconds: 0), editedAt: nil,
            deleted: false, unknown: [JSONMember(key: "mood", value: RawJSON(string: "ok"))])
        #expect(
            String(decoding: message.json, as: UTF8.self)
                == #"{"id":"m","conversation":"c","seq":42,"rev":57,"author":"alice","body":"hi","#
                + #""attachment":null,"metadata":{},"createdAt":"1970-01-01T00:00:00.000Z","#
                + #""editedAt":null,"deleted":false,"mood":"ok"}"#)
        #expect(message.seq == 42 && message.rev == 57 && message.id == "m")
        #expect(message.author == "alice" && !message.isDeleted)
    }

    @Test func aTombstoneHasNoContent() throws {
        let message = EncodedMessage.encode(
            id: "m", conversation: "c", seq: 42, rev: 58, author: "alice", body: "gone",
            attachment: .emptyObject, metadata: .emptyObject,
            createdAt: Timestamp(milliseconds: 0), editedAt: Timestamp(milliseconds: 1),
            deleted: true, unknown: [JSONMember(key: "mood", value: RawJSON(string: "gone"))])
        #expect(
            String(decoding: message.json, as: UTF8.self)
                == #"{"id":"m","conversation":"c","seq":42,"rev":58,"author":"alice","#
                + #""createdAt":"1970-01-01T00:00:00.000Z","editedAt":"1970-01-01T00:00:00.001Z","#
                + #""deleted":true}"#)
        #expect(message.isDeleted)
        #expect(try EncodedMessage.decode(json: message.json).isDeleted)
    }

    /// What an earlier version stored under the names of reactions means nothing, and stays.
    @Test func fieldsOfAnEarlierVersionAreUnknown() throws {
        let text =
            #"{"id":"m","conversation":"c","seq":1,"rev":2,"author":"a","body":"b","#
            + #""attachment":null,"metadata":{},"createdAt":"1970-01-01T00:00:00.000Z","#
            + #""editedAt":null,"deleted":false,"x":1,"contentRev":5,"#
            + #""reactions":[{"key":"k","count":1,"users":["a"],"more":1}]}"#
        var message = EncodedMessage(
            seq: 1, rev: 2, id: "m", author: "a", isDeleted: false,
            createdAt: Timestamp(milliseconds: 0), json: Array(text.utf8))
        let value = try message.value()
        #expect(value.reactions.isEmpty && value.contentRev == nil)
        #expect(value.unknown.map(\.key) == ["x", "contentRev", "reactions"])
        #expect(try message.content().unknown == value.unknown)
        #expect(try message.reactions().isEmpty)
        message.contentRev = 1
        #expect(try message.value().reactions.map(\.key) == ["k"])
        #expect(try message.value().unknown.map(\.key) == ["x"])
    }

    @Test func comesBackWhole() throws {
        let words = [
            "", "a", "\"quoted\"", "é😀\u{0}", "\n\t\\", String(repeating: "x", count: 700),
        ]
        let values = [RawJSON.null, RawJSON(int: 7), .emptyArray, RawJSON(string: "\u{1F}é")]
        for seed in UInt64(1)...500 {
            var random = SplitMix64(seed: seed)
            let parts = Message(
                id: "m\(seed)", conversation: "c\"\(seed)",
                seq: Int.random(in: 1...1 << 52, using: &random),
                rev: Int.random(in: 1...1 << 52, using: &random), author: "é\(seed)",
                body: Bool.random(using: &random) ? words.randomElement(using: &random) : nil,
                attachment: Bool.random(using: &random)
                    ? RawJSON(unchecked: Array(#"{"url": "x" }"#.utf8)) : nil,
                metadata: Bool.random(using: &random)
                    ? .emptyObject : RawJSON(unchecked: Array(#"{"n":1.50}"#.utf8)),
                createdAt: Timestamp(
                    milliseconds: Int64.random(in: 0...4_000_000_000_000, using: &random)),
                editedAt: Bool.random(using: &random) ? Timestamp(milliseconds: 5) : nil,
                unknown: values.indices.filter { _ in Bool.random(using: &random) }
                    .map { JSONMember(key: "x\($0)\n", value: values[$0]) })
            let message = EncodedMessage.encode(
                id: parts.id, conversation: parts.conversation, seq: parts.seq ?? 0,
                rev: parts.rev ?? 0, author: parts.author, body: parts.body,
                attachment: parts.attachment, metadata: parts.metadata, createdAt: parts.createdAt,
                editedAt: parts.editedAt, deleted: false, unknown: parts.unknown)
            #expect(try EncodedMessage.decode(json: message.json) == parts, "seed \(seed)")
            let read = try JSONSerialization.jsonObject(with: Data(message.json)) as? [String: Any]
            #expect(read?["body"] as? String == parts.body, "seed \(seed)")
            #expect(read?["seq"] as? Int == parts.seq, "seed \(seed)")
            #expect(read?["createdAt"] as? String == parts.createdAt.description, "seed \(seed)")
        }
    }
}
