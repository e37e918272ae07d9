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

    /// A holder of a thousand runs is told of as many gaps, nearly all of one moment. So what is
    /// the same in each of them is text already, and the moment is written once.
    package mutating func gaps(_ gaps: some Sequence<Gap>) {
        beginArray()
        var since: (moment: Timestamp, text: [UInt8])?
        for gap in gaps {
            if since?.moment != gap.since {
                var text: [UInt8] = []
                gap.since.appendRFC3339(to: &text)
                since = (gap.since, text)
            }
            raw { gap.append(to: &$0, since: since?.text ?? []) }
        }
        endArray()
    }

    package mutating func boundaries(_ boundaries: some Sequence<Boundary>) {
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
    /// - Parameter isEvent: events never list the participants.
    package mutating func conversation(
        _ record: Record, lastMessage: EncodedMessage?, head: Head, reader: ReaderState? = nil,
        isEvent: Bool = false
    ) {
        beginObject()
        fields(of: record, isEvent: isEvent)
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
        if !isEvent, record.participants.count <= Record.listedParticipants {
            member("participants", strings: record.participants)
        }
        member("participantCount", int: record.participants.count)
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
    /// The gap's text.
    /// - Parameter since: the text of its moment.
    fileprivate func append(to bytes: inout [UInt8], since: [UInt8]) {
        bytes.append(contentsOf: #"{"after":"#.utf8)
        JSONWriter.append(Int64(after), to: &bytes)
        bytes.append(contentsOf: #","before":"#.utf8)
        JSONWriter.append(Int64(before), to: &bytes)
        bytes.append(contentsOf: #","missing":"#.utf8)
        if let missing {
            JSONWriter.append(Int64(missing), to: &bytes)
        } else {
            bytes.append(contentsOf: "null".utf8)
        }
        bytes.append(contentsOf: #","cause":"#.utf8)
        JSONWriter.append(cause.rawValue, to: &bytes)
        bytes.append(contentsOf: #","since":""#.utf8)
        bytes.append(contentsOf: since)
        bytes.append(contentsOf: #""}"#.utf8)
    }
}
