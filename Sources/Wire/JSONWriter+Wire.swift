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

    /// A holder of a thousand runs is told of as many gaps, nearly all of one cause and moment. So
    /// what is the same in each of them is text already, and its end is written once.
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

    /// `open` is only written where it is true.
    package mutating func open(_ isOpen: Bool) {
        if isOpen { member("open", bool: true) }
    }

    // MARK: Objects

    package mutating func message(_ message: EncodedMessage) { raw(message.json) }

    package mutating func deltas(_ deltas: some Sequence<EncodedDelta>) {
        beginArray()
        for delta in deltas {
            beginObject()
            member("type", string: delta.type.rawValue)
            member("via", string: delta.via.rawValue)
            member("message", raw: delta.message.json)
            endObject()
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

    /// A conversation: its record, what its log has last, and, where there is a reader, the
    /// reader's own fields.
    /// - Parameters:
    ///   - createdBy: the client that created it, where that is to be said.
    ///   - isEvent: events never list the participants.
    package mutating func conversation(
        _ record: Record, lastMessage: EncodedMessage?, head: Head, reader: ReaderState? = nil,
        createdBy: String? = nil, isEvent: Bool = false
    ) {
        beginObject()
        fields(of: record, isEvent: isEvent)
        if let createdBy { member("createdBy", string: createdBy) }
        key("lastMessage")
        if let lastMessage { message(lastMessage) } else { null() }
        member("head", head: head)
        if let reader {
            member("unreadCount", int: reader.unreadCount)
            member("lastReadSeq", int: reader.lastReadSeq)
        }
        endObject()
    }

    private mutating func fields(of record: Record, isEvent: Bool) {
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
        for field in record.unknown { member(field) }
    }
}

extension Record {
    /// Up to how many participants a reply lists them: `protocol.md` 6.
    package static let listedParticipants = 100
}

extension Gap {
    private static let after = Array(#"{"after":"#.utf8)
    private static let before = Array(#","before":"#.utf8)
    private static let missing = Array(#","missing":"#.utf8)
    private static let null = Array("null".utf8)

    /// What the gap's text takes at most, without its end.
    fileprivate static let room =
        after.count + before.count + missing.count + 3 * OutputSpan<UInt8>.integerRoom

    /// The gap's text.
    /// - Parameter end: what `end` says.
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

    /// The text of its cause and moment, to the end of the gap.
    fileprivate var end: [UInt8] {
        var text = Array(#","cause":"#.utf8)
        JSONWriter.append(cause.rawValue, to: &text)
        text.append(contentsOf: #","since":""#.utf8)
        since.appendRFC3339(to: &text)
        text.append(contentsOf: #""}"#.utf8)
        return text
    }
}
