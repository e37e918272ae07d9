import Chat
import JSON

/// The values of `protocol.md` 1 and 6 as replies and events carry them, in the order of the page.
extension JSONWriter {
    /// A moment, or `null`.
    package mutating func moment(_ moment: Timestamp?) {
        guard let moment else { return null() }
        raw {
            $0.append(UInt8(ascii: "\""))
            moment.appendRFC3339(to: &$0)
            $0.append(UInt8(ascii: "\""))
        }
    }

    /// A member with a moment, or `null`.
    package mutating func member(_ name: String, moment: Timestamp?) {
        key(name)
        self.moment(moment)
    }

    /// A member with a list of strings.
    package mutating func member(_ name: String, strings: some Sequence<String>) {
        key(name)
        beginArray()
        for text in strings { string(text) }
        endArray()
    }

    // MARK: The place in a log

    package mutating func head(_ head: Head) {
        beginObject()
        member("epoch", string: head.epoch)
        member("seq", int: head.seq)
        member("rev", int: head.rev)
        member("mark", string: head.mark)
        member("floor", int: head.floor)
        endObject()
    }

    package mutating func member(_ name: String, head: Head) {
        key(name)
        self.head(head)
    }

    /// `[[low, high], …]`
    package mutating func coverage(_ coverage: Coverage) {
        beginArray()
        for run in coverage.runs {
            beginArray()
            int(run.low)
            int(run.high)
            endArray()
        }
        endArray()
    }

    package mutating func member(_ name: String, coverage: Coverage) {
        key(name)
        self.coverage(coverage)
    }

    /// A holder of a thousand runs may get as many gaps, nearly all with one cause and moment. So
    /// their constant parts are prepared as text, and the end of each is encoded once.
    package mutating func gaps(_ gaps: [Gap]) {
        beginArray()
        var last: (gap: Gap, end: [UInt8])?
        for gap in gaps {
            if last?.gap.cause != gap.cause || last?.gap.since != gap.since {
                last = (gap, gap.end)
            }
            let end = last?.end ?? []
            raw(room: Gap.room + end.count) { gap.append(to: &$0, end: end) }
        }
        endArray()
    }

    package mutating func boundaries(_ boundaries: [Boundary]) {
        beginArray()
        for boundary in boundaries { boundary.write(to: &self) }
        endArray()
    }

    /// Writes `open` only if it is true.
    package mutating func open(_ isOpen: Bool) {
        if isOpen { member("open", bool: true) }
    }

    // MARK: Objects

    package mutating func message(_ message: EncodedMessage) { raw(message.json) }

    package mutating func deltas(_ deltas: [EncodedDelta]) {
        beginArray()
        for delta in deltas {
            let start = delta.start
            raw(room: start.count + delta.message.json.count + 1) { text in
                text.append(text: start.span)
                text.append(text: delta.message.json.span)
                text.append(UInt8(ascii: "}"))
            }
        }
        endArray()
    }

    /// A record by itself.
    /// - Parameter isEvent: events never list the participants.
    package mutating func record(_ record: Record, isEvent: Bool = false) {
        beginObject()
        fields(of: record, isEvent: isEvent)
        endObject()
    }

    /// A conversation: its record, its last message and head, and, for a reader, the per-user
    /// fields.
    /// - Parameters:
    ///   - createdBy: the client that created it, if the reply shows that.
    ///   - isEvent: events never list the participants.
    package mutating func conversation(
        _ record: Record, lastMessage: EncodedMessage?, head: Head, reader: ReaderState? = nil,
        createdBy: String? = nil, isEvent: Bool = false
    ) {
        beginObject()
        fields(of: record, isEvent: isEvent, isForReader: reader != nil)
        if let createdBy { member("createdBy", string: createdBy) }
        key("lastMessage")
        if let lastMessage { message(lastMessage) } else { null() }
        member("head", head: head)
        if let reader {
            member("unreadCount", int: reader.unreadCount)
            member("lastReadSeq", int: reader.lastReadSeq)
            member("unreadMentions", int: reader.unreadMentions)
        }
        endObject()
    }

    private mutating func fields(of record: Record, isEvent: Bool, isForReader: Bool = false) {
        member("id", string: record.id)
        member("title", string: record.title)
        if !isEvent, record.participantCount <= Record.listedParticipants {
            member("participants", strings: record.participants)
        }
        member("participantCount", int: record.participantCount)
        member("admins", strings: record.admins)
        member("metadata", raw: record.metadata)
        member("createdAt", moment: record.createdAt)
        member("updatedAt", moment: record.updatedAt)
        member("rev", int: record.rev)
        // An earlier version may have stored something under the name of a reader's field.
        for field in record.unknown where !isForReader || field.key != "unreadMentions" {
            member(field)
        }
    }
}

extension Record {
    /// The most participants that a reply lists: `protocol.md` 6.
    package static let listedParticipants = 100
}

extension Gap {
    private static let after = Array(#"{"after":"#.utf8)
    private static let before = Array(#","before":"#.utf8)
    private static let missing = Array(#","missing":"#.utf8)
    private static let null = Array("null".utf8)

    /// The most bytes of the gap's text, without its end.
    fileprivate static let room =
        after.count + before.count + missing.count + 3 * OutputSpan<UInt8>.integerRoom

    /// Writes the gap's text.
    /// - Parameter end: the text of `end`.
    fileprivate func append(to text: inout OutputSpan<UInt8>, end: [UInt8]) {
        text.append(text: Self.after.span)
        text.append(integer: Int64(after))
        text.append(text: Self.before.span)
        text.append(integer: Int64(before))
        text.append(text: Self.missing.span)
        if let missing {
            text.append(integer: Int64(missing))
        } else {
            text.append(text: Self.null.span)
        }
        text.append(text: end.span)
    }

    /// The text of the cause and the moment, to the end of the gap.
    fileprivate var end: [UInt8] {
        var text = Array(#","cause":"#.utf8)
        JSONWriter.append(cause.rawValue, to: &text)
        text.append(contentsOf: #","since":""#.utf8)
        since.appendRFC3339(to: &text)
        text.append(contentsOf: #""}"#.utf8)
        return text
    }
}

extension EncodedDelta {
    /// The beginning of a delta of each kind, up to its message: encoded once.
    private static let starts: [[UInt8]] = {
        let (types, vias) = (DeltaType.allCases, Via.allCases)
        var starts = [[UInt8]](repeating: [], count: types.count * vias.count)
        for type in types {
            for via in vias {
                var json = JSONWriter()
                json.beginObject()
                json.member("type", string: type.rawValue)
                json.member("via", string: via.rawValue)
                json.key("message")
                starts[place(type, via)] = json.bytes
            }
        }
        return starts
    }()

    /// The beginning of this one.
    fileprivate var start: [UInt8] { Self.starts[Self.place(type, via)] }

    private static func place(_ type: DeltaType, _ via: Via) -> Int {
        let row =
            switch type {
            case .inserted: 0
            case .updated: 1
            case .deleted: 2
            }
        let column =
            switch via {
            case .live: 0
            case .fill: 1
            case .replay: 2
            case .cache: 3
            }
        return 4 * row + column
    }
}
