import Chat
import Ports
import Wire

/// A watched list of conversations, for origins whose feed is subscribed to per conversation: all
/// of its conversations are followed, and the list itself is read again after each loss.
struct ListFollower {
    let user: String
    var watchers = 0
    /// Its contents, as far as they were read.
    private(set) var conversations: Set<ID> = []
    /// The conversations of the last answer's token, until the list was read completely.
    private var answered: Set<ID>?
    /// It was read completely since it is followed: conversations found later have just joined.
    private var isWhole = false
    /// Whether a reading is under way.
    var isBeingRead = false
    /// The number of the current or last reading: answers to earlier ones don't count.
    var reading = 0
    /// The list changed during the reading.
    var isStale = false
    /// When to ask again, after the origin did not answer.
    var retryAt: Timestamp?
    /// Conversations in it that watchers were last notified as gone: the log reported so before the
    /// list did.
    var left: Set<ID> = []

    // For answers while the origin is away.

    /// How many readings had begun when the list's feed began.
    private(set) var followedSince = Int.max
    /// Set once it was read completely and followed by the feed since.
    private(set) var known: Known?
    private var told = Reports()
    var looks = Looks()

    /// Periodic checks whether everything is known.
    struct Looks {
        /// When to check next.
        var at: Timestamp?
        /// How many checks in a row found something unknown and asked for it.
        var futile = 0
    }

    /// What was reported of the list beside its readings.
    private struct Reports {
        /// Conversations in it with a reported removal that the list has not confirmed.
        var gone: Set<ID> = []
        /// The same at the beginning of the current reading.
        var before: Set<ID> = []
        /// Conversations that left it, with the number of readings begun then.
        var left: [ID: Int] = [:]
        /// Conversations that the feed reported in it, or an answer showed in it for the first
        /// time, since the current reading began.
        var joined: Set<ID> = []
        /// Conversations that an answer did not have, with the number of readings begun then.
        var disputed: [ID: Int] = [:]
    }

    /// A complete reading that is still valid.
    struct Known {
        /// The feed's generation.
        let generation: Int
        /// Nil if no token can be made.
        var place: ListPlace?
    }

    /// Limit of departures that are kept.
    private static let departureLimit = 1000

    init(user: String) { self.user = user }

    // MARK: - Contents

    /// Whether a conversation found by a reading joined after watchers were given the list. A
    /// reading may find it before the feed reports it.
    func isNew(_ conversation: ID) -> Bool {
        isWhole || answered.map { !$0.contains(conversation) } ?? false
    }

    /// Whether watchers were last notified that the conversation is in it.
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

    /// The watchers were notified that the conversation left the list.
    mutating func noteTold(_ conversation: ID) {
        noteGone(conversation)
        if conversations.contains(conversation) { left.insert(conversation) }
    }

    /// A removal of the user was reported.
    mutating func noteGone(_ conversation: ID) {
        guard conversations.contains(conversation) else { return }
        told.gone.insert(conversation)
        noteDeparture()
    }

    /// - Returns: whether it was absent.
    mutating func insert(_ conversation: ID) -> Bool {
        guard conversations.insert(conversation).inserted else { return false }
        if isBeingRead { told.joined.insert(conversation) }
        // The place is from before it joined, and of a long list a digest alone proves no join.
        if conversations.count > ListDigest.shortLimit { known?.place = nil }
        return true
    }

    /// - Parameter readings: how many have begun.
    /// - Returns: whether it was present.
    mutating func remove(_ conversation: ID, readings: Int) -> Bool {
        told.disputed[conversation] = nil
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

    /// The feed reports the conversation in it.
    mutating func isIn(_ conversation: ID) {
        left.remove(conversation)
        told.gone.remove(conversation)
        told.left[conversation] = nil
        if isBeingRead { told.joined.insert(conversation) }
    }

    /// Whether a report that came during the reading contradicts it. Either may be the older one,
    /// so the next reading decides, which the report has asked for.
    func isContradicted(_ conversation: ID, isIn: Bool) -> Bool {
        isIn
            ? told.left[conversation].map { $0 >= reading } ?? false
            : told.joined.contains(conversation)
                || told.disputed[conversation].map { $0 >= reading } ?? false
    }

    /// An answer of the origin did not have these: they left before it, or joined after it. Until a
    /// later reading decides, watchers are sent nothing about them.
    /// - Parameter readings: how many have begun.
    mutating func dispute(_ conversations: Set<ID>, readings: Int) {
        guard !conversations.isEmpty else { return }
        for conversation in conversations { told.disputed[conversation] = readings }
        noteDeparture()
    }

    func isDisputed(_ conversation: ID) -> Bool { told.disputed[conversation] != nil }

    /// Those of the disputed conversations that the ended reading confirms.
    mutating func confirm(_ found: Set<ID>) -> Set<ID> {
        let confirmed = told.disputed.filter { found.contains($0.key) && $0.value < reading }
        for conversation in confirmed.keys { told.disputed[conversation] = nil }
        return conversations.intersection(confirmed.keys)
    }

    /// Conversations in it with a reported removal that the list has not confirmed.
    var gone: Set<ID> { told.gone }

    /// Conversations that left it since it was read and are not in it now.
    var departed: [String] {
        Set(told.left.keys).subtracting(conversations).union(gone).map(\.text).sorted()
    }

    // MARK: - Readings

    /// The list's feed begins: a read before that may miss changes.
    mutating func follow(readings: Int) {
        followedSince = readings
        known = nil
    }

    /// A feed ended, possibly the list's.
    mutating func lapsed(generation: Int) {
        if known?.generation ?? generation == generation { followedSince = .max }
    }

    /// Whether its feed is believed to be running.
    var isFollowed: Bool { followedSince < .max }

    mutating func doubt() { known = nil }

    /// Something left it. The feed reports that late, and it may be about a former log whose
    /// successor has the user as a participant. So the list is read again at once.
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
        told.joined = []
    }

    /// The list was read completely.
    /// - Parameter generation: of the feed that was unbroken during the reading; 0 for none.
    mutating func adopt(_ place: ListPlace?, generation: Int) {
        // The reading found these still in it.
        told.gone.subtract(told.before)
        told.before = []
        told.left = told.left.filter { $0.value >= reading }
        guard generation > 0, reading > followedSince, !isStale else {
            known = nil
            return
        }
        known = Known(generation: generation, place: place)
    }
}
