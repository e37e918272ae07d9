import JSON

/// The two ends of one run of messages that is held without a hole: `protocol.md` 1 and 6.
///
/// A plain value, made by `findBoundaries` and sent by the gateway in replies. To close the hole
/// above the run, load the messages after `newest`; for the hole below, those before `oldest`.
public struct Boundary: Sendable, Hashable {
    /// A message at the end of a run.
    public struct End: Sendable, Hashable {
        /// The message's id; nil if the gateway has never seen the message, because only its client
        /// holds this run.
        public var id: String?
        /// The message's seq.
        public var seq: Int

        /// A message at the end of a run.
        public init(id: String?, seq: Int) {
            self.id = id
            self.seq = seq
        }
    }

    /// The newest message of the run.
    public var newest: End
    /// The oldest message of the run; the same as `newest` in a run of one.
    public var oldest: End

    /// The ends of a run.
    public init(newest: End, oldest: End) {
        self.newest = newest
        self.oldest = oldest
    }

    private static let record = "boundary"

    /// The boundary in a JSON object.
    /// - Throws: `RecordError`, which names the field.
    public init(_ object: JSONObject) throws(RecordError) {
        var newest: End?
        var oldest: End?
        for member in object.members {
            let field = RecordField(of: Self.record, member)
            switch member.key {
            case "newest": newest = try field.nested(End.init)
            case "oldest": oldest = try field.nested(End.init)
            default: break
            }
        }
        guard let newest else { throw .missing("newest", of: Self.record) }
        guard let oldest else { throw .missing("oldest", of: Self.record) }
        self.init(newest: newest, oldest: oldest)
    }

    /// Writes the boundary as one value.
    public func write(to writer: inout JSONWriter) {
        // A reply may hold a thousand boundaries, so their constant parts are prepared as text.
        writer.raw(room: Self.room + newest.room + oldest.room) {
            $0.append(text: Self.beginning.span)
            newest.append(to: &$0)
            $0.append(text: Self.middle.span)
            oldest.append(to: &$0)
            $0.append(text: Self.end.span)
        }
    }

    private static let beginning = Array(#"{"newest":{"id":"#.utf8)
    private static let middle = Array(#"},"oldest":{"id":"#.utf8)
    private static let end = Array("}}".utf8)
    private static let room = beginning.count + middle.count + end.count
}

extension Boundary.End {
    private static let record = "boundary"

    /// The end in a JSON object.
    /// - Throws: `RecordError`, which names the field.
    init(_ object: JSONObject) throws(RecordError) {
        var id: String?
        var seq: Int?
        for member in object.members {
            let field = RecordField(of: Self.record, member)
            switch member.key {
            case "id": id = field.isNull ? nil : try field.id()
            case "seq": seq = try field.integer(from: 1)
            default: break
            }
        }
        guard let seq else { throw .missing("seq", of: Self.record) }
        self.init(id: id, seq: seq)
    }

    /// The most bytes that `append` writes.
    fileprivate var room: Int {
        (id.map(OutputSpan<UInt8>.room(for:)) ?? Self.null.count) + Self.seq.count
            + OutputSpan<UInt8>.integerRoom
    }

    /// Writes the value of `id` and the rest of the object, without its closing brace.
    fileprivate func append(to text: inout OutputSpan<UInt8>) {
        if let id { text.append(string: id) } else { text.append(text: Self.null.span) }
        text.append(text: Self.seq.span)
        text.append(integer: Int64(seq))
    }

    private static let null = Array("null".utf8)
    private static let seq = Array(#","seq":"#.utf8)
}
