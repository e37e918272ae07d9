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

/// Which entries of the lists' logs were delivered, and since where they are asked for. Entries
/// become visible in any order, however long their transactions were open, so a place is not an
/// entry but the oldest transaction that may still become visible.
struct PostgresListLog {
    private var told: Set<Int> = []
    /// Places from answers, by when they came.
    private var places: [(at: ContinuousClock.Instant, place: Int)] = []
    /// Conversations whose question failed, with the place that it named.
    private var missed: [ID: Int] = [:]

    /// The least number of entries that are remembered.
    private static let remembered = 20_000
    /// What became visible so long ago has rung, or the feed has broken since.
    private static let patience = Duration.seconds(60)

    /// The place since which entries are asked for.
    var place: Int { places.first?.place ?? 0 }

    /// A feed begins, with a place from before it. The server may be another one, or have lost its
    /// end, and give the numbers of entries again.
    mutating func open(at place: Int) {
        told = []
        places = [(.now, place)]
        missed = [:]
    }

    mutating func note(_ place: Int?) {
        let now = ContinuousClock.now
        if let place, places.last.map({ now - $0.at > Self.patience / 6 }) ?? true {
            places.append((now, place))
        }
        while places.count > 1, now - places[1].at > Self.patience { places.removeFirst() }
    }

    mutating func miss(_ conversations: [ID], since place: Int) {
        for id in conversations { missed[id] = min(place, missed[id] ?? place) }
    }

    /// The conversations to ask about again, and since where.
    mutating func takeMissed() -> (conversations: [ID], place: Int) {
        defer { missed = [:] }
        return (Array(missed.keys), missed.values.min() ?? 0)
    }

    /// Whether the entry was not delivered before; it is remembered.
    mutating func isNew(_ entry: Int) -> Bool {
        guard told.insert(entry).inserted else { return false }
        if told.count > 2 * Self.remembered {
            told = Set(told.sorted().suffix(Self.remembered))
        }
        return true
    }
}
