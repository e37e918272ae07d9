import Chat
import JSON
import Wire

/// One slot of a log as stored in Redis: the numbers that scripts need, separated by tabs (no id
/// has one), then the content.
extension StoredMessage {
    /// Reads `rev ⇥ createdAt ⇥ editedAt ⇥ deleted ⇥ id ⇥ author ⇥ content`. Before the content may
    /// stand `reactions ⇥ contentRev ⇥`; a content begins with a brace, they with a bracket.
    package init?(_ value: some Collection<UInt8>) {
        let parts = value.split(
            separator: UInt8(ascii: "\t"), maxSplits: 6, omittingEmptySubsequences: false)
        guard parts.count == 7 else { return nil }
        let texts = parts.prefix(6).map { String(decoding: $0, as: UTF8.self) }
        guard let rev = Int(texts[0]), RedisReply.places.contains(rev),
            let created = Int64(texts[1])
        else { return nil }
        self.rev = rev
        createdAt = Timestamp(milliseconds: created)
        editedAt = Int64(texts[2]).map(Timestamp.init(milliseconds:))
        isDeleted = texts[3] == "1"
        isTrimmed = texts[3] == "2"
        id = texts[4]
        author = texts[5]
        guard !isDeleted else {
            content = MessageContent()
            return
        }
        var rest = parts[6]
        if rest.first == UInt8(ascii: "[") {
            let pieces = rest.split(
                separator: UInt8(ascii: "\t"), maxSplits: 2, omittingEmptySubsequences: false)
            guard pieces.count == 3,
                let contentRev = Int(String(decoding: pieces[1], as: UTF8.self)),
                RedisReply.places.contains(contentRev),
                let reactions = StoredReactions(
                    Array(pieces[0]), contentRev: contentRev, upTo: rev)
            else { return nil }
            self.reactions = reactions
            rest = pieces[2]
        }
        guard let content = Self.content(Array(rest)) else { return nil }
        self.content = content
    }
}
