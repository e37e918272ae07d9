import JSON
import Wire

/// An entry of a user's list log.
struct PostgresListEntry {
    var user: String
    var place: Int
    var conversation: String
    var isIn: Bool

    init?(_ row: RawJSON) {
        guard let parts = row.array, parts.count == 4, let user = parts[0].string,
            let place = parts[1].int, let conversation = parts[2].string, let isIn = parts[3].bool
        else { return nil }
        self.user = user
        self.place = place
        self.conversation = conversation
        self.isIn = isIn
    }
}
