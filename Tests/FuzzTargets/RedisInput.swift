import Chat
import Engine
import JSON
import Ports
import Upstream
import Wire

/// What a server of Redis, a node of a cluster or a sentinel answers, and what comes over a
/// channel: read by hiredis, in pieces that the first byte cuts, then by everything here that
/// reads replies. Whatever of it reaches a frame is valid JSON.
enum RedisInput {
    static func run(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let stream = bytes[1...]
        let whole = replies(stream, step: stream.count)
        let pieces = replies(stream, step: 1 + Int(first) % 31)
        require(whole == pieces, "the same replies in any pieces")
        for reply in whole.prefix(64) { read(reply, depth: 0) }
        // What stands inside a text, without the lengths around it.
        text(Array(stream))
        read(.array(whole), depth: 8)
    }

    private static func replies(_ stream: ArraySlice<UInt8>, step: Int) -> [RedisReply] {
        guard let reader = RedisReplyReader() else { return [] }
        var replies: [RedisReply] = []
        var rest = stream
        while !rest.isEmpty {
            // Behind a fault nothing counts, wherever the pieces were cut: the connection ends.
            guard let read = reader.replies(in: rest.prefix(step)) else { return [] }
            replies += read
            rest = rest.dropFirst(step)
        }
        return replies
    }

    private static func read(_ reply: RedisReply, depth: Int) {
        _ = reply.string
        _ = reply.int
        _ = reply.errorCode
        if let address = reply.redirection?.address ?? reply.master {
            require((1...65_535).contains(address.port), "a port is one")
        }
        if let bytes = reply.bytes { text(bytes) }
        record(reply)
        guard depth < 8 else { return }
        for element in reply.elements.prefix(64) { read(element, depth: depth + 1) }
    }

    /// The answers of the scripts.
    private static func record(_ reply: RedisReply) {
        _ = Head(reply)
        for member in StoredMember.all(reply)?.prefix(16) ?? [] { ContentPromises.check(member) }
        if let message = EncodedMessage(reply, of: "c") { ContentPromises.check(message) }
        if let view = StoredConversation(reply.elements, of: "c") {
            let shown = view.shown
            ContentPromises.check(shown.record, lastMessage: shown.lastMessage)
        }
    }

    private static func text(_ bytes: [UInt8]) {
        if let slot = StoredMessage(bytes) {
            ContentPromises.check(slot.encoded(conversation: "c", seq: 1))
        }
        for topic in [RedisTopic.conversation("c".id), .list("u".id)] {
            for event in RedisEvent.decode(bytes, of: topic) ?? [] { check(event) }
        }
        let asked = RedisOptions.Address(host: "h", port: 1)
        if let view = ClusterView(String(decoding: bytes, as: UTF8.self), from: asked) {
            check(view, asked)
        }
    }

    private static func check(_ event: FeedEvent) {
        switch event {
        case .message(_, _, let message, _, _): ContentPromises.check(message)
        case .record(let record, let head, _, _, _, _):
            ContentPromises.check(record)
            let frame = ServerFrame.conversation(record, prev: 0, asOf: 1, head: head, open: true)
            ContentPromises.isValid(frame)
        case .typing(let conversation, let user, let state, let at):
            ContentPromises.isValid(
                ServerFrame.typing(conversation: conversation, user: user, state: state, at: at))
        case .read(let conversation, let user, let seq):
            ContentPromises.isValid(
                ServerFrame.read(conversation: conversation, user: user, seq: seq))
        case .deleted, .listed: break
        }
    }

    private static func check(_ view: ClusterView, _ asked: RedisOptions.Address) {
        for (address, ranges) in view.masters {
            require((1...65_535).contains(address.port), "a port is one")
            for range in ranges {
                require(range.lowerBound >= 0 && range.upperBound < 16_384, "a slot is one")
            }
        }
        let vote = ClusterMap.Vote(view: view, askedAt: .now)
        let votes = Dictionary(
            view.masters.keys.map { ($0, vote) }, uniquingKeysWith: { first, _ in first })
        let (map, leases) = ClusterMap.counted(votes, lease: .seconds(1))
        for slot in [0, 1, 8192, 16_383] {
            guard let owner = map.owner(of: slot) else { continue }
            require(leases[owner] != nil, "an owner has a lease")
            require(
                view.masters[owner]?.contains { $0.contains(slot) } == true,
                "a slot is the one's who has it")
        }
    }
}
