import Chat
import JSON
import Wire

/// One slot of a log as stored in Redis: the numbers that scripts need, separated by tabs (no id
/// has one), then the content.
extension StoredMessage {
    /// Reads `rev ⇥ createdAt ⇥ editedAt ⇥ deleted ⇥ id ⇥ author ⇥ content`. Before the content may
    /// stand `address ⇥`, then `reactions ⇥ contentRev ⇥`. A content begins with a brace, reactions
    /// with a bracket, and an address with `@`.
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
        var address: Substring = ""
        if rest.first == UInt8(ascii: "@") {
            let pieces = rest.split(
                separator: UInt8(ascii: "\t"), maxSplits: 1, omittingEmptySubsequences: false)
            guard pieces.count == 2 else { return nil }
            address = Substring(decoding: pieces[0], as: UTF8.self)
            rest = pieces[1]
        }
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
        guard var content = Self.content(Array(rest)) else { return nil }
        if !address.isEmpty {
            guard content.take(address: address) else { return nil }
        }
        self.content = content
    }

    /// To what a content replies and whom it mentions, as `addressing.lua` describes it; empty if
    /// it does neither.
    static func address(of content: MessageContent) -> [UInt8] {
        guard content.isAddressed else { return [] }
        let words = [
            content.mentionAll ? "@1" : "@0", content.replyTo?.id ?? "",
            content.replyTo?.seq.map { String($0) } ?? "",
        ]
        return Array((words + content.mentions).joined(separator: "\n").utf8)
    }
}

extension MessageContent {
    /// Reads what `StoredMessage.address` or a script wrote; false if that is not what it is.
    fileprivate mutating func take(address: Substring) -> Bool {
        let words = address.split(separator: "\n", omittingEmptySubsequences: false)
        guard words.count >= 3, words[0] == "@0" || words[0] == "@1" else { return false }
        mentionAll = words[0] == "@1"
        if !words[1].isEmpty {
            let seq = words[2].isEmpty ? nil : Int(words[2])
            guard words[2].isEmpty || seq.map(RedisReply.places.contains) == true else {
                return false
            }
            replyTo = Reply(id: String(words[1]), seq: seq)
        }
        mentions = words.dropFirst(3).map { String($0) }
        return true
    }
}
