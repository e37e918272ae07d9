import JSON

/// One frame about a conversation, as far as it affects what a client holds: `protocol.md` 1.
/// Decoded once, and shared by all clients that get the same bytes.
final class StreamFrame {
    enum Kind { case messages, gap, conversation, reset, unsubscribed, subscribed, page }

    /// A message's value as of some change.
    struct Value {
        let id: String
        let seq: Int
        let rev: Int
    }

    /// The newest change of the log.
    struct Head {
        /// The original text: it is sent back unchanged.
        let text: [UInt8]
        let epoch: String
        let rev: Int
        let floor: Int
    }

    let kind: Kind
    /// The index of the room in the drill, if the frame names it; a reply's is known from its
    /// request.
    let room: Int?
    let values: [Value]
    let covers: Slots
    let gaps: Slots
    let prev: Int
    let asOf: Int
    let head: Head?
    let isReset: Bool

    /// An event; nil if it does not concern the messages of a room.
    /// - Parameter prefix: the part of a room's name before its index.
    /// - Throws: `BenchError.failure` for anything that the protocol does not allow.
    init?(event text: [UInt8], prefix: String) throws(BenchError) {
        let event = try Self.object(text)
        switch event["event"]?.string {
        case "messages": kind = .messages
        case "gap": kind = .gap
        case "conversation": kind = .conversation
        case "reset": kind = .reset
        case "unsubscribed": kind = .unsubscribed
        default: return nil
        }
        let name = event["conversation"].flatMap { $0.string ?? $0.object?["id"]?.string }
        guard let name, name.hasPrefix(prefix), let index = Int(name.dropFirst(prefix.count)) else {
            return nil
        }
        room = index
        (values, covers, gaps) = try Self.content(event)
        (prev, asOf) = (event["prev"]?.int ?? 0, event["asOf"]?.int ?? 0)
        head = try Self.head(event)
        isReset = false
    }

    /// A final reply to `subscribeMessages` or `fetchMessages`.
    /// - Throws: as the other initializer.
    init(reply text: [UInt8], _ kind: Kind) throws(BenchError) {
        guard let result = try Self.object(text)["result"]?.object else { throw Self.malformed }
        self.kind = kind
        room = nil
        (values, covers, gaps) = try Self.content(result)
        (prev, asOf) = (0, result["asOf"]?.int ?? 0)
        head = try Self.head(result)
        isReset = result["reset"]?.bool == true
        guard head != nil, result["asOf"] != nil else { throw Self.malformed }
    }

    private static let malformed = BenchError.failure(
        "reading a frame: not what the protocol says")

    private static func object(_ text: [UInt8]) throws(BenchError) -> JSONObject {
        guard let object = try? JSONObject(text) else { throw malformed }
        return object
    }

    private static func content(
        _ object: JSONObject
    ) throws(BenchError) -> ([Value], covers: Slots, gaps: Slots) {
        let messages =
            object["messages"]?.array
            ?? (object["deltas"]?.array ?? []).compactMap { $0.object?["message"] }
        var values: [Value] = []
        for message in messages {
            guard let fields = message.object, let id = fields["id"]?.string,
                let seq = fields["seq"]?.int, let rev = fields["rev"]?.int
            else { throw malformed }
            values.append(Value(id: id, seq: seq, rev: rev))
        }
        var covers = Slots()
        for run in object["covers"]?.array ?? [] {
            guard let ends = run.array, ends.count == 2, let low = ends[0].int,
                let high = ends[1].int, low <= high
            else { throw malformed }
            covers.insert(low...high)
        }
        var gaps = Slots()
        for gap in object["gaps"]?.array ?? [] {
            guard let after = gap.object?["after"]?.int, let before = gap.object?["before"]?.int,
                after + 1 < before
            else { throw malformed }
            gaps.insert((after + 1)...(before - 1))
        }
        return (values, covers, gaps)
    }

    private static func head(_ object: JSONObject) throws(BenchError) -> Head? {
        guard let value = object["head"] else { return nil }
        guard let fields = value.object, let epoch = fields["epoch"]?.string,
            let rev = fields["rev"]?.int, let floor = fields["floor"]?.int
        else { throw malformed }
        return Head(text: value.bytes, epoch: epoch, rev: rev, floor: floor)
    }
}

/// Reads a crowd's frames.
struct FrameReader {
    /// The part of a room's name before its index.
    let prefix: String
    private var events = FrameCache()
    private var replies = FrameCache()

    init(prefix: String) { self.prefix = prefix }

    /// An event; nil if it does not concern the messages of a room.
    /// - Throws: `BenchError.failure` for anything that the protocol does not allow.
    mutating func event(_ payload: Span<UInt8>) throws(BenchError) -> StreamFrame? {
        try events.frame(payload) { [prefix] text throws(BenchError) in
            try StreamFrame(event: text, prefix: prefix)
        }
    }

    /// A reply, from after its id: `,"result":{…}}`.
    /// - Throws: as `event`.
    mutating func reply(
        _ rest: Span<UInt8>, _ kind: StreamFrame.Kind
    ) throws(BenchError) -> StreamFrame? {
        try replies.frame(rest) { text throws(BenchError) in
            try StreamFrame(reply: [UInt8(ascii: "{")] + text.dropFirst(), kind)
        }
    }
}

/// The latest frames by their bytes: all subscribers get the same ones, so all but the first are
/// compared instead of decoded. Replies to the same request differ only in their id, so they are
/// cached from after it.
struct FrameCache {
    private struct Entry {
        let bytes: [UInt8]
        let frame: StreamFrame?
    }

    /// More than the different frames of a burst. A power of two.
    private static let size = 128
    private var entries: [Entry] = []
    private var next = 0

    /// The frame decoded earlier from these bytes, or the result of `read`.
    mutating func frame(
        _ bytes: Span<UInt8>, read: ([UInt8]) throws(BenchError) -> StreamFrame?
    ) throws(BenchError) -> StreamFrame? {
        // Newest first: it is nearly always that one.
        for back in 1...Self.size {
            let place = (next - back) & (Self.size - 1)
            guard place < entries.count else { break }
            if Bytes.areEqual(bytes, entries[place].bytes) { return entries[place].frame }
        }
        let copy = Bytes.copy(bytes)
        let entry = Entry(bytes: copy, frame: try read(copy))
        if entries.count < Self.size {
            entries.append(entry)
        } else {
            entries[next] = entry
        }
        next = (next + 1) & (Self.size - 1)
        return entry.frame
    }
}
