/// Decodes the `messages` events of one conversation. All subscribers get the same bytes: only the
/// first one's are parsed, the others' compared with `memcmp`. So every byte of a delivery is
/// checked for the cost of a comparison.
struct DeltaLedger {
    /// One inserted message: its place in the log, and the number that its sender gave it.
    struct Delta: Sendable {
        let seq: Int
        let message: Int
    }

    private struct Entry {
        var bytes: [UInt8] = []
        var deltas: [Delta] = []
    }

    /// By the seq of the first delta: a power of two, and more than the distance between
    /// subscribers while the gateway sheds nothing.
    private var entries: [Entry]
    /// Whether messages carry their place in a log; a peer's do not, and are numbered in the order
    /// of the first reader.
    private let isNumbered: Bool
    private static let event = Pattern("{\"event\":\"messages\"")
    private static let inserted = Pattern("\"type\":\"inserted\"")
    private static let id = Pattern("\"id\":\"\(Self.prefix)")
    private static let seq = Pattern("\"seq\":")

    /// The prefix of message ids; the number follows.
    static let prefix = "bench-"

    /// - Parameter size: the number of events kept for comparison, a power of two.
    init(isNumbered: Bool = true, size: Int = 4096) {
        self.isNumbered = isNumbered
        entries = [Entry](repeating: Entry(), count: size)
    }

    /// The deltas in a payload; nil if it is not a `messages` event.
    /// - Parameter seq: the seq of the reader's next message.
    mutating func deltas(in payload: Span<UInt8>, expecting seq: Int) -> [Delta]? {
        let place = seq & (entries.count - 1)
        if Bytes.areEqual(payload, entries[place].bytes) { return entries[place].deltas }
        guard Bytes.find(Self.event, in: payload.extracting(first: Self.event.count)) == 0 else {
            return nil
        }
        var deltas = Self.parse(payload)
        if !isNumbered {
            deltas = deltas.prefix(1).map { Delta(seq: seq, message: $0.message) }
        }
        if deltas.first?.seq == seq {
            entries[place] = Entry(bytes: Bytes.copy(payload), deltas: deltas)
        }
        return deltas
    }

    /// A message for a peer to forward, which looks like a gateway's event.
    static func event(_ number: Int, bytes: Int) -> [UInt8] {
        let text =
            "{\"event\":\"messages\",\"type\":\"inserted\",\"id\":\"\(prefix)\(number)\",\"seq\":1,"
        let head = Array("\(text)\"body\":\"".utf8)
        let fill = [UInt8](repeating: UInt8(ascii: "x"), count: max(0, bytes - head.count - 2))
        return head + fill + Array("\"}".utf8)
    }

    private static func parse(_ payload: Span<UInt8>) -> [Delta] {
        var deltas: [Delta] = []
        var at = 0
        while let type = Bytes.find(inserted, in: payload, from: at) {
            at = type + inserted.count
            guard let id = Bytes.find(id, in: payload, from: at),
                let message = Bytes.number(in: payload, at: id + Self.id.count),
                let mark = Bytes.find(seq, in: payload, from: id),
                let seq = Bytes.number(in: payload, at: mark + Self.seq.count)
            else { break }
            deltas.append(Delta(seq: seq, message: message))
        }
        return deltas
    }
}
