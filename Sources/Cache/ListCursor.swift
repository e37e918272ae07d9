/// The place of a conversation in a list by activity. As a cursor it travels through clients and
/// comes back, so it is read strictly: anything that was not written here is refused.
package struct ListCursor: Sendable, Hashable {
    /// Milliseconds of the last activity.
    package var activity: Int64
    /// The number of the conversation, which decides where the activity is the same.
    package var cid: Int

    package init(activity: Int64, cid: Int) {
        self.activity = activity
        self.cid = cid
    }

    /// As it is given out.
    package var text: String {
        String(activity, radix: 36) + "." + String(cid, radix: 36)
    }

    /// Reads what `text` wrote.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let activity = Int64(parts[0], radix: 36),
            let cid = Int(parts[1], radix: 36), cid > 0
        else { return nil }
        self.init(activity: activity, cid: cid)
        guard self.text == text else { return nil }
    }
}

/// Up to which change a user knows the list of conversations: its rev, and the mark by which it is
/// told from the list of another file, or of this one before it was restored.
package struct ListToken: Sendable, Hashable {
    package var rev: Int
    package var mark: String

    package init(rev: Int, mark: String) {
        self.rev = rev
        self.mark = mark
    }

    /// As it is given out.
    package var text: String { String(rev, radix: 36) + "." + mark }

    /// Reads what `text` wrote.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let rev = Int(parts[0], radix: 36), rev >= 0 else { return nil }
        self.init(rev: rev, mark: String(parts[1]))
        guard self.text == text else { return nil }
    }
}
