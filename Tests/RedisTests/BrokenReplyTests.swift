import JSON
import Ports
import Testing
import Wire

@testable import Upstream

/// Replies that no sound Redis gives: they are none, and end nothing else.
@Suite struct BrokenReplyTests {
    private func replies(_ text: String) throws -> [RedisReply]? {
        try #require(RedisReplyReader()).replies(in: Array(text.utf8)[...])
    }

    @Test func anArrayHasALimit() throws {
        #expect(try replies("*2\r\n:1\r\n*1\r\n+x\r\n") != nil)
        #expect(try replies("*\(RedisReplyReader.mostElements + 1)\r\n") == nil)
        #expect(try replies("*2000000000\r\n") == nil)
        #expect(try replies("*\(RedisReplyReader.mostElements)\r\n") == [])
    }

    @Test(arguments: [0, -1, 65_536, 99_999_999_999]) func aPortIsOne(_ port: Int) {
        #expect(RedisReply.error("MOVED 1 h:\(port)").redirection == nil)
        #expect(RedisReply.array([.text(Array("h".utf8)), .integer(port)]).master == nil)
        let asked = RedisOptions.Address(host: "h", port: 1)
        let line = "id h:\(port) master - 0 0 1 connected 0-1"
        #expect(ClusterView(line, from: asked) == nil)
    }

    @Test func theLastPortIsOne() {
        #expect(RedisReply.error("ASK 1 h:65535").redirection?.address.port == 65_535)
        #expect(RedisReply.array([.text([0x68]), .integer(1)]).master?.port == 1)
    }

    private func view(metadata: String, unknown: String = "{}") -> StoredConversation? {
        func text(_ text: String) -> RedisReply { .text(Array(text.utf8)) }
        let head = RedisReply.array([text("e"), .integer(1), .integer(1), text("m"), .integer(1)])
        let fields = RedisReply.array([
            .none, text(metadata), text(unknown), .integer(1), .integer(2), .none,
            .none,
        ])
        let parts = [text("ok"), head, .integer(1), fields, .array([]), .none, .none]
        return StoredConversation(parts, of: "c")
    }

    private static let broken = [
        "", "{", "{}}", #"{},"admins":["eve"]"#, "[]", "1", " {}x",
        String(repeating: #"{"a":"#, count: 33) + "{}" + String(repeating: "}", count: 33),
    ]

    /// What lies in Redis goes into frames as it is.
    @Test(arguments: broken) func metadataThatAreNoObjectMakeNoView(_ text: String) {
        #expect(view(metadata: #"{"a":1}"#)?.metadata.bytes == Array(#"{"a":1}"#.utf8))
        #expect(view(metadata: text) == nil)
        #expect(view(metadata: "{}", unknown: text) == nil)
    }

    @Test(arguments: broken) func metadataThatAreNoObjectMakeNoEvent(_ text: String) throws {
        func event(_ metadata: RawJSON) -> [FeedEvent]? {
            let described = RedisEvent.describe(
                [[], metadata.bytes, Array("{}".utf8)], users: ["a"], admins: [], removed: [])
            let numbers = RedisEvent.pack(["record", "e", "1", "1", "1", "m", "1", "1", "1"])
            return RedisEvent.decode(numbers + described, of: .conversation("c".id))
        }
        #expect(event(.emptyObject)?.count == 1)
        #expect(event(RawJSON(unchecked: Array(text.utf8))) == nil)
    }

    /// A record of many says how many there are, and who joined.
    @Test func aRecordOfManyNamesWhoJoined() {
        let numbers = RedisEvent.pack(["change", "e", "1", "1", "7", "m", "0", "1", "1"])
        func event(_ parts: [[UInt8]]) -> FeedEvent? {
            let fields = [[], Array("{}".utf8), Array("{}".utf8)] + parts
            return RedisEvent.decode(numbers + RedisEvent.pack(fields), of: .conversation("c".id))?
                .first
        }
        func packed(_ users: String...) -> [UInt8] { RedisEvent.pack(users) }
        let count = Array("250".utf8)
        guard
            case .record(let record, _, ["b"], ["c", "d"], false, nil) = event([
                count, packed("a"), packed("b"), packed("c", "d"),
            ])
        else {
            Issue.record("it can't be read")
            return
        }
        #expect(record.participantCount == 250 && record.participants.isEmpty)
        #expect(record.admins == ["a"] && !record.namesEverybody)
        for count in ["", "0", "-1", "x", "9999999999999999999"] {
            #expect(event([Array(count.utf8), packed(), packed(), packed()]) == nil)
        }
        #expect(event([count, packed(), packed()]) == nil)
    }

    /// Who listens goes on listening, whatever the server says.
    @Test func whatIsNoEventIsNothing() {
        func text(_ text: String) -> RedisReply { .text(Array(text.utf8)) }
        for word in ["message", "smessage", "subscribe", "sunsubscribe", "else"] {
            #expect(RedisPush(text(word)) == .nothing)
            #expect(RedisPush(.array([text(word)])) == .nothing)
            #expect(RedisPush(.array([text(word), .none])) == .nothing)
        }
        #expect(RedisPush(.array([text("message"), text("c")])) == .nothing)
        #expect(RedisPush(.array([])) == .nothing && RedisPush(.integer(7)) == .nothing)
        #expect(
            RedisPush(.array([text("message"), text("c"), text("e")]))
                == .event(channel: [0x63], [0x65]))
        #expect(
            RedisPush(.array([text("subscribe"), text("c"), .integer(1)]))
                == .acknowledged(channel: [0x63], isWanted: true))
        #expect(RedisPush(text("PONG")) == .pong)
    }

    /// The numbers of a log are computed with.
    @Test(arguments: [Int.min, -1, 1 << 53, Int.max]) func aNumberOfALogIsOne(_ number: Int) {
        func text(_ text: String) -> RedisReply { .text(Array(text.utf8)) }
        for at in 1...4 where at != 3 {
            var parts = [text("e"), .integer(2), .integer(2), text("m"), .integer(1)]
            #expect(Head(.array(parts)) != nil)
            parts[at] = .integer(number)
            #expect(Head(.array(parts)) == nil)
            parts[at] = text(String(number))
            #expect(Head(.array(parts)) == nil)
        }
        func slot(_ rev: Int) -> [UInt8] { Array("\(rev)\t1\t\t0\tm1\tann\t{}".utf8) }
        #expect(StoredMessage(slot(7)) != nil && StoredMessage(slot(number)) == nil)
        func events(_ floor: Int, _ newest: Int, _ seq: Int, _ rev: Int) -> [FeedEvent]? {
            let numbers = ["messages", "e", "\(floor)", "\(newest)", "i", "\(seq)", "m"]
            let packed = RedisEvent.pack(numbers.map { Array($0.utf8) } + [slot(rev)])
            return RedisEvent.decode(packed, of: .conversation("c".id))
        }
        #expect(events(1, 2, 2, 2)?.count == 1)
        #expect(events(number, 2, 2, 2) == nil && events(1, number, 2, 2) == nil)
        #expect(events(1, 2, number, 2) == nil && events(1, 2, 2, number) == nil)
    }
}
