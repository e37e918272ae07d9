import Chat
import JSON
import Ports
import Wire

/// Events on a channel: parts with their lengths (`5:hello`), which a script can build and which
/// need no escapes. One event is one write, with all its changes.
package enum RedisEvent {
    // MARK: writing

    /// Packs parts, like the scripts.
    package static func pack(_ parts: [[UInt8]]) -> [UInt8] {
        var packed: [UInt8] = []
        for part in parts {
            packed.append(contentsOf: "\(part.count):".utf8)
            packed.append(contentsOf: part)
        }
        return packed
    }

    static func pack(_ texts: [String]) -> [UInt8] { pack(texts.map { Array($0.utf8) }) }

    /// The first words of a record's event: one names all members, as earlier versions know it; the
    /// other names only who joined, for large conversations.
    static let record = "record"
    static let change = "change"

    /// The parts of a record's event besides the numbers, which the script adds.
    static func describe(
        _ saying: [[UInt8]], users: [String], admins: [String], removed: [String]
    ) -> [UInt8] {
        pack(saying + [pack(users), pack(admins), pack(removed)])
    }

    /// The same for large conversations, for receivers who know the previous members.
    static func describe(
        _ saying: [[UInt8]], count: Int, admins: [String], removed: [String], joined: [String]
    ) -> [UInt8] {
        let count = Array(String(count).utf8)
        return pack(saying + [count, pack(admins), pack(removed), pack(joined)])
    }

    /// A typing event: published, not stored.
    static func typing(_ user: String, _ state: TypingState, at: Timestamp) -> [UInt8] {
        pack(["typing", user, state.rawValue, String(at.milliseconds)])
    }

    /// A conversation entered a user's list, or left it.
    static func listed(_ conversation: String, isIn: Bool) -> [UInt8] {
        pack(["listed", conversation, isIn ? "1" : "0"])
    }

    // MARK: reading

    /// The changes in an event; nil if this gateway does not know the event.
    package static func decode(_ event: [UInt8], of topic: RedisTopic) -> [FeedEvent]? {
        switch topic {
        case .conversation(let id): return decode(event, of: id.text)
        case .list(let user):
            var parts = Parts(event)
            guard parts.text() == "listed", let id = parts.text(), let isIn = parts.text() else {
                return nil
            }
            return [.listed(user: user.text, conversation: id, isIn: isIn == "1")]
        case .disconnects, .presence: return nil
        }
    }

    /// Users whose presence changed; nil if this gateway does not know the event.
    package static func presence(_ event: [UInt8]) -> [String]? {
        var parts = Parts(event)
        return parts.text() == "presence" ? parts.texts() : nil
    }

    /// A request to disconnect a user; nil if this gateway does not know the event.
    static func disconnect(_ event: [UInt8]) -> DisconnectEntry? {
        var parts = Parts(event)
        guard parts.text() == "disconnect", let id = parts.text(), let user = parts.text(),
            let mayComeBack = parts.text(), let nonce = parts.text()
        else { return nil }
        return DisconnectEntry(
            id: id, user: user, mayComeBack: mayComeBack == "1", nonce: nonce)
    }

    private static func decode(_ event: [UInt8], of conversation: String) -> [FeedEvent]? {
        var parts = Parts(event)
        switch parts.text() {
        case "messages": return messages(&parts, conversation)
        case record: return record(&parts, conversation, isWhole: true).map { [$0] }
        case change: return record(&parts, conversation, isWhole: false).map { [$0] }
        case "deleted":
            guard let epoch = parts.text() else { return nil }
            return [
                .deleted(conversation: conversation, epoch: epoch, participants: parts.texts())
            ]
        case "read":
            guard let user = parts.text(), let seq = parts.place() else { return nil }
            return [.read(conversation: conversation, user: user, seq: seq)]
        case "typing":
            guard let user = parts.text(), let state = parts.text().flatMap(TypingState.init),
                let at = parts.int()
            else { return nil }
            return [
                .typing(
                    conversation: conversation, user: user, state,
                    at: Timestamp(milliseconds: Int64(at)))
            ]
        default: return nil
        }
    }

    private static func messages(_ parts: inout Parts, _ conversation: String) -> [FeedEvent]? {
        guard let epoch = parts.text(), let floor = parts.place(), let newest = parts.place() else {
            return nil
        }
        var changes: [(type: DeltaType, message: EncodedMessage, head: Head)] = []
        while let kind = parts.text() {
            guard let seq = parts.place(), let mark = parts.part(),
                let slot = parts.part().flatMap({ StoredMessage($0) })
            else { return nil }
            let type: DeltaType = kind == "i" ? .inserted : kind == "d" ? .deleted : .updated
            let head = Head(
                epoch: epoch, seq: type == .inserted ? seq : newest, rev: slot.rev,
                mark: Hexadecimal.text(Array(mark)), floor: floor)
            let message = slot.encoded(conversation: conversation, seq: seq)
            changes.append((type, message, head))
        }
        var after = parts.markBehind
        return changes.map { type, message, head in
            defer { after = head.mark }
            return .message(conversation: conversation, type, message, head: head, after: after)
        }
    }

    private static func record(
        _ parts: inout Parts, _ conversation: String, isWhole: Bool
    ) -> FeedEvent? {
        guard let epoch = parts.text(), let floor = parts.place(), let seq = parts.place(),
            let rev = parts.place(), let mark = parts.part(), let isNew = parts.text(),
            let created = parts.int(), let updated = parts.int(), let title = parts.part(),
            let metadata = parts.part(), let unknown = parts.part(), let users = parts.part(),
            let admins = parts.part(), let removed = parts.part(),
            let metadata = RawJSON(stored: Array(metadata)),
            let members = [JSONMember](stored: Array(unknown))
        else { return nil }
        func texts(_ packed: ArraySlice<UInt8>) -> [String] {
            var parts = Parts(Array(packed))
            return parts.texts()
        }
        let joined = isWhole ? nil : parts.part()
        guard isWhole || joined != nil else { return nil }
        var record = Record(
            id: conversation,
            title: title.isEmpty ? nil : String(decoding: title.dropFirst(), as: UTF8.self),
            participants: isWhole ? texts(users) : [], admins: texts(admins),
            metadata: metadata,
            createdAt: Timestamp(milliseconds: Int64(created)),
            updatedAt: Timestamp(milliseconds: Int64(updated)), rev: rev, unknown: members)
        if !isWhole {
            guard let count = Int(String(decoding: users, as: UTF8.self)),
                RedisReply.places.contains(count), count > 0
            else { return nil }
            record.unnamed = count
        }
        let head = Head(
            epoch: epoch, seq: seq, rev: rev, mark: Hexadecimal.text(Array(mark)), floor: floor)
        return .record(
            record, head: head, removed: texts(removed), joined: joined.map(texts) ?? [],
            isNew: isNew == "1", after: parts.markBehind)
    }

    /// Reads parts from the front; each call takes one, nil at the end.
    private struct Parts {
        private let bytes: [UInt8]
        private var at = 0

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        /// The mark before the event's first change, which stands behind the parts: `~` and the
        /// mark, or `~` alone where the log begins. Earlier versions don't write it, and don't read
        /// it, since it is no part; nil there.
        var markBehind: String? {
            let rest = bytes[at...]
            guard rest.first == UInt8(ascii: "~"), rest.count == 1 || rest.count == 9 else {
                return nil
            }
            return Hexadecimal.text(Array(rest.dropFirst()))
        }

        mutating func part() -> ArraySlice<UInt8>? {
            guard let colon = bytes[at...].firstIndex(of: UInt8(ascii: ":")),
                let count = Int(String(decoding: bytes[at..<colon], as: UTF8.self)), count >= 0,
                count < bytes.count - colon
            else { return nil }
            at = colon + 1 + count
            return bytes[(colon + 1)..<at]
        }

        mutating func text() -> String? { part().map { String(decoding: $0, as: UTF8.self) } }

        mutating func int() -> Int? { text().flatMap { Int($0) } }

        /// A number of a log; see `RedisReply.place`.
        mutating func place() -> Int? {
            int().flatMap { RedisReply.places.contains($0) ? $0 : nil }
        }

        /// All remaining parts.
        mutating func texts() -> [String] {
            var texts: [String] = []
            while let text = text() { texts.append(text) }
            return texts
        }
    }
}
