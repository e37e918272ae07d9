/// A conversation's position in a list ordered by activity. Clients hold it as a cursor, so it is
/// parsed strictly: only text that this type wrote is accepted.
package struct ListCursor: Sendable, Hashable {
    /// The time of the last activity, in milliseconds.
    package var activity: Int64
    /// The number of the conversation, which breaks ties.
    package var cid: Int

    package init(activity: Int64, cid: Int) {
        self.activity = activity
        self.cid = cid
    }

    /// The text for clients.
    package var text: String {
        String(activity, radix: 36) + "." + String(cid, radix: 36)
    }

    /// Parses what `text` wrote.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let activity = Int64(parts[0], radix: 36),
            let cid = Int(parts[1], radix: 36), cid > 0
        else { return nil }
        self.init(activity: activity, cid: cid)
        guard self.text == text else { return nil }
    }
}

/// The change up to which a user knows the list of conversations: the list's rev, and the mark that
/// tells this list from that of another file, or of this file before it was restored.
package struct ListToken: Sendable, Hashable {
    package var rev: Int
    package var mark: String

    package init(rev: Int, mark: String) {
        self.rev = rev
        self.mark = mark
    }

    /// The text for clients.
    package var text: String { String(rev, radix: 36) + "." + mark }

    /// Parses what `text` wrote.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let rev = Int(parts[0], radix: 36), rev >= 0 else { return nil }
        self.init(rev: rev, mark: String(parts[1]))
        guard self.text == text else { return nil }
    }
}
