import Wire

/// A conversation's place in a list of an origin elsewhere, by activity, then by id. As a cursor it
/// passes through clients.
package struct ActivityCursor: Sendable, Hashable {
    /// Milliseconds of the last activity: the newest message that was sent, deleted or not, or the
    /// newest change of the record.
    package var activity: Int64
    package var id: String

    package var text: String { String(activity, radix: 36) + "." + id }

    package init(activity: Int64, id: String) {
        self.activity = activity
        self.id = id
    }

    package init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let activity = Int64(parts[0], radix: 36),
            Identifier.isValid(String(parts[1]))
        else { return nil }
        self.init(activity: activity, id: String(parts[1]))
    }

    package func stands(before other: ActivityCursor) -> Bool {
        activity == other.activity
            ? other.id.utf8.lexicographicallyPrecedes(id.utf8) : activity > other.activity
    }
}
