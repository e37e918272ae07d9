import Chat
import Foundation
import JSON
import Testing
import Wire

/// What the gateway sends, read by Foundation, and its exact text where the order of fields counts.
@Suite struct ServerFrameTests {
    private let head = Head(epoch: "e\"1", seq: 42, rev: 57, mark: "m", floor: 3)
    private let headText = #"{"epoch":"e\"1","seq":42,"rev":57,"mark":"m","floor":3}"#
    private let time = Timestamp(milliseconds: 1_000)

    private func text(_ payload: [UInt8]) throws -> String {
        _ = try JSONSerialization.jsonObject(with: Data(payload))
        return String(decoding: payload, as: UTF8.self)
    }

    private func message(_ seq: Int, body: String = "hi") -> EncodedMessage {
        EncodedMessage.encode(
            id: "m\(seq)", conversation: "c", seq: seq, rev: seq + 1, author: "alice", body: body,
            attachment: nil, metadata: nil, createdAt: time, editedAt: nil, deleted: false,
            unknown: [])
    }

    private func record(_ participants: [String]) -> Record {
        Record(
            id: "c", title: nil, participants: participants, admins: ["a"], metadata: .emptyObject,
            createdAt: time, updatedAt: time, rev: 12,
            unknown: [JSONMember(key: "topic", value: RawJSON(string: "x"))])
    }

    @Test func replies() throws {
        #expect(
            try text(ServerFrame.reply(id: 7) { $0.raw(.emptyObject) }) == #"{"id":7,"result":{}}"#)
        #expect(
            try text(ServerFrame.reply(id: 7, cached: true) { $0.raw(.emptyObject) })
                == #"{"id":7,"cached":true,"result":{}}"#)
        #expect(
            try text(ServerFrame.reply(id: 7, cached: false) { $0.raw(.emptyArray) })
                == #"{"id":7,"cached":false,"result":[]}"#)
    }

    @Test func errors() throws {
        #expect(
            try text(ServerFrame.error(id: 0, .invalid("id: missing \"x\"")))
                == #"{"id":0,"error":{"code":"bad_request","reason":"field_invalid","#
                + #""message":"id: missing \"x\"","retry":"never"}}"#
        )
        let later = RequestError(.limitRequestsPerSecond, "slow", after: 250)
        #expect(
            try text(ServerFrame.error(id: 9, later))
                == #"{"id":9,"error":{"code":"rate_limited","reason":"limit_requests_per_second","#
                + #""message":"slow","retry":"later","after":250}}"#
        )
    }

    @Test func messages() throws {
        let message = message(42)
        let payload = ServerFrame.messages(
            conversation: "c", deltas: [EncodedDelta(.inserted, .live, message)],
            covers: [[41, 42]], prev: 56, asOf: 57, head: head, open: false)
        let json = String(decoding: message.json, as: UTF8.self)
        let expected =
            #"{"event":"messages","conversation":"c","deltas":[{"type":"inserted","via":"live","#
            + #""message":\#(json)}],"covers":[[41,42]],"prev":56,"asOf":57,"head":\#(headText)}"#
        #expect(try text(payload) == expected)
        let empty = ServerFrame.messages(
            conversation: "c", deltas: [], covers: Coverage(), prev: 57, asOf: 57, head: head,
            open: true)
        #expect(
            try text(empty)
                == #"{"event":"messages","conversation":"c","deltas":[],"covers":[],"prev":57,"#
                + #""asOf":57,"head":\#(headText),"open":true}"#)
    }

    @Test func gaps() throws {
        let gaps = [
            Gap(after: 41, before: 90, missing: 48, cause: .upstream, since: time),
            Gap(after: 0, before: 3, missing: nil, cause: .trimmed, since: time),
        ]
        let payload = ServerFrame.gap(
            conversation: "c", gaps: gaps, prev: 1, asOf: 2, head: head, open: false)
        #expect(
            try text(payload)
                == #"{"event":"gap","conversation":"c","gaps":["#
                + #"{"after":41,"before":90,"missing":48,"#
                + #""cause":"upstream","since":"1970-01-01T00:00:01.000Z"},{"after":0,"before":3,"#
                + #""missing":null,"cause":"trimmed","since":"1970-01-01T00:00:01.000Z"}],"#
                + #""prev":1,"asOf":2,"head":\#(headText)}"#)
    }

    @Test func records() throws {
        let payload = ServerFrame.conversation(
            record(["a", "b"]), prev: 56, asOf: 57, head: head, open: false)
        #expect(
            try text(payload)
                == #"{"event":"conversation","conversation":{"id":"c","title":null,"#
                + #""participantCount":2,"admins":["a"],"metadata":{},"#
                + #""createdAt":"1970-01-01T00:00:01.000Z","updatedAt":"1970-01-01T00:00:01.000Z","#
                + #""rev":12,"topic":"x"},"prev":56,"asOf":57,"head":\#(headText)}"#)
    }

    @Test func conversations() throws {
        let last = message(42)
        let json = String(decoding: last.json, as: UTF8.self)
        let payload = ServerFrame.conversations(
            .updated, record(["a", "b"]), lastMessage: last, head: head)
        let written = try text(payload)
        #expect(
            written.hasPrefix(
                #"{"event":"conversations","deltas":[{"type":"updated","conversation":{"id":"c","#))
        #expect(written.hasSuffix(#""topic":"x","lastMessage":\#(json),"head":\#(headText)}}]}"#))
        #expect(!written.contains("participants\""))
        #expect(!written.contains("unreadCount"))
        #expect(
            try text(ServerFrame.conversationRemoved("c"))
                == #"{"event":"conversations","deltas":["#
                + #"{"type":"deleted","conversation":{"id":"c"}}]}"#
        )
    }

    @Test func aReplyListsParticipantsUpToAHundredAndTheReadersOwnFields() throws {
        func reply(_ count: Int, reader: ReaderState?) throws -> String {
            var writer = JSONWriter()
            writer.conversation(
                record((0..<count).map { "u\($0)" }), lastMessage: nil, head: head, reader: reader)
            return try text(writer.bytes)
        }
        let small = try reply(2, reader: ReaderState(lastReadSeq: 39, unreadCount: 3))
        #expect(small.contains(#""title":null,"participants":["u0","u1"],"participantCount":2,"#))
        #expect(
            small.hasSuffix(
                #""lastMessage":null,"head":\#(headText),"unreadCount":3,"lastReadSeq":39,"#
                    + #""unreadMentions":0}"#))
        #expect(try reply(100, reader: nil).contains(#""participants":["#))
        let large = try reply(101, reader: nil)
        #expect(!large.contains(#""participants":"#))
        #expect(large.contains(#""participantCount":101"#))
        #expect(!large.contains("unreadCount"))
    }

    @Test func theRest() throws {
        let cases: [([UInt8], String)] = [
            (ServerFrame.ping, #"{"event":"ping"}"#),
            (
                ServerFrame.reset(conversation: "c", head: head),
                #"{"event":"reset","conversation":"c","head":\#(headText)}"#
            ),
            (
                ServerFrame.read(conversation: "c", user: "u\n", seq: 7),
                #"{"event":"read","conversation":"c","user":"u\n","seq":7}"#
            ),
            (
                ServerFrame.upstream(state: .syncing, since: time),
                #"{"event":"upstream","state":"syncing","since":"1970-01-01T00:00:01.000Z"}"#
            ),
            (
                ServerFrame.typing(conversation: "c", user: "u", state: .pause, at: time),
                #"{"event":"typing","conversation":"c","user":"u","state":"pause","#
                    + #""at":"1970-01-01T00:00:01.000Z"}"#
            ),
            (
                ServerFrame.goaway(reconnectIn: 1500, reason: "draining"),
                #"{"event":"goaway","reconnectIn":1500,"reason":"draining"}"#
            ),
        ]
        for (payload, expected) in cases { #expect(try text(payload) == expected) }
        for reason in UnsubscribeReason.allCases {
            #expect(
                try text(ServerFrame.unsubscribed(conversation: "c", reason: reason))
                    == #"{"event":"unsubscribed","conversation":"c","#
                    + #""reason":"\#(reason.rawValue)"}"#
            )
        }
    }

    @Test func boundaries() throws {
        var writer = JSONWriter()
        writer.boundaries([
            Boundary(newest: .init(id: "b", seq: 42), oldest: .init(id: "a", seq: 30))
        ])
        #expect(
            try text(writer.bytes)
                == #"[{"newest":{"id":"b","seq":42},"oldest":{"id":"a","seq":30}}]"#)
    }
}
