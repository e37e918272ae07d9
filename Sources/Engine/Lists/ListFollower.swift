import Chat
import Ports
import Wire

/// A user's list of conversations that somebody watches, where the feed has to be asked for each
/// conversation: all in it are followed, and the list itself is read again after each loss.
struct ListFollower {
    let user: String
    var watchers = 0
    /// What is in it, as far as it was read.
    private(set) var conversations: Set<ID> = []
    /// What the last answer's token has, until the list was read whole.
    private var answered: Set<ID>?
    /// It was read whole since it is followed: what comes later has just come into it.
    private var isWhole = false
    /// It is being read.
    var isBeingRead = false
    /// Of the reading under way, or the last one: an answer of an earlier one does not count.
    var reading = 0
    /// The list changed while it was being read.
    var isStale = false
    /// The origin did not answer, and is asked again then.
    var retryAt: Timestamp?
    /// Those in it of which the watchers were told last that they are out: the log told so before
    /// the list did.
    var left: Set<ID> = []

    // What is answered of it while the origin is away.

    /// How many readings had begun when the feed began to tell of the list.
    private(set) var followedSince = Int.max
    /// It was read whole, and the feed has told of it since.
    private(set) var known: Known?
    private var told = Departures()
    var looks = Looks()

    /// Looking whether all that is to be known of it is known.
    struct Looks {
        /// When it is looked next.
        var at: Timestamp?
        /// How often in a row something was asked for because of it.
        var futile = 0
    }

    /// What was told to have left it.
    private struct Departures {
        /// Those in it of which a removal was told; the list did not say so yet.
        var gone: Set<ID> = []
        /// The same when the reading under way began.
        var before: Set<ID> = []
        /// Those that left it, with how many readings had begun.
        var left: [ID: Int] = [:]
    }

    /// A reading that counts.
    struct Known {
        /// Of the feed.
        let generation: Int
        /// nil where no token can be made of it.
        var place: ListPlace?
    }

    /// More departures than that are not kept.
    private static let departureLimit = 1000

    init(user: String) { self.user = user }

    // MARK: - What is told

    /// Whether a conversation that a reading found came into the list after the watchers were
    /// given it. The reading may know of it before the feed tells.
    func isNew(_ conversation: ID) -> Bool {
        isWhole || answered.map { !$0.contains(conversation) } ?? false
    }

    /// Whether the conversation is in it, as far as its watchers were told.
    func shows(_ conversation: ID) -> Bool {
        conversations.contains(conversation) && !left.contains(conversation)
    }

    mutating func noteWhole() {
        isWhole = true
        answered = nil
    }

    mutating func noteAnswer(_ heads: [ID: Head]) {
        if !isWhole { answered = Set(heads.keys) }
    }

    /// The watchers were told that the conversation is out of the list.
    mutating func noteTold(_ conversation: ID) {
        noteGone(conversation)
        if conversations.contains(conversation) { left.insert(conversation) }
    }

    /// Somebody was told that the user does not take part any more.
    mutating func noteGone(_ conversation: ID) {
        guard conversations.contains(conversation) else { return }
        told.gone.insert(conversation)
        noteDeparture()
    }

    /// - Returns: whether it was not in it.
    mutating func insert(_ conversation: ID) -> Bool { conversations.insert(conversation).inserted }

    /// - Parameter readings: how many have begun.
    /// - Returns: whether it was in it.
    mutating func remove(_ conversation: ID, readings: Int) -> Bool {
        guard conversations.remove(conversation) != nil else { return false }
        noteDeparture()
        told.gone.remove(conversation)
        told.left[conversation] = readings
        if told.left.count > Self.departureLimit {
            told.left = [:]
            known?.place = nil
        }
        return true
    }

    /// The feed says that the conversation is in it.
    mutating func isIn(_ conversation: ID) {
        left.remove(conversation)
        told.gone.remove(conversation)
        told.left[conversation] = nil
    }

    /// Those in it of which a removal was told; the list did not say so yet.
    var gone: Set<ID> { told.gone }

    /// Those that left it since it was read, and are not in it.
    var departed: [String] {
        Set(told.left.keys).subtracting(conversations).union(gone).map(\.text).sorted()
    }

    // MARK: - What counts

    /// The feed begins to tell of it: what was read before may lack what nobody told of.
    mutating func follow(readings: Int) {
        followedSince = readings
        known = nil
    }

    /// A feed has ended, which may be the one that tells of it.
    mutating func lapsed(generation: Int) {
        if known?.generation ?? generation == generation { followedSince = .max }
    }

    /// The feed tells of it, as far as is known.
    var isFollowed: Bool { followedSince < .max }

    mutating func doubt() { known = nil }

    /// Something left it: the feed tells of that late, and may mean a log which another one has
    /// followed since, in which the user takes part. It is read again at once.
    private mutating func noteDeparture() {
        if isBeingRead { isStale = true }
        guard known != nil else { return }
        known = nil
        looks.at = Timestamp(milliseconds: 0)
    }

    mutating func beginReading(_ reading: Int) {
        isBeingRead = true
        retryAt = nil
        self.reading = reading
        told.before = told.gone
    }

    /// All of it was read.
    /// - Parameter generation: of the feed that told of it all the time, 0 for none.
    mutating func adopt(_ place: ListPlace?, generation: Int) {
        // It was in it again.
        told.gone.subtract(told.before)
        told.before = []
        told.left = told.left.filter { $0.value >= reading }
        guard generation > 0, reading > followedSince, !isStale else { return known = nil }
        known = Known(generation: generation, place: place)
    }
}
