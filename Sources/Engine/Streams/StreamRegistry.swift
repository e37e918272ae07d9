import Chat
import Ports
import Wire

/// The conversations in memory, by id, and what their recent changes may take together. Shared by
/// the machines of an engine.
final class StreamRegistry {
    private var byID: [ID: Stream] = [:]
    /// What the recent changes of all streams take, or somewhat more.
    private var recentBytes = 0
    /// What those of one may take, and those of all.
    private var recentLimit: Int
    private var recentsLimit: Int
    /// How many people all streams keep, or somewhat more.
    private var people = 0
    /// When idle streams are looked for again.
    private var nextEviction: Timestamp

    /// How often idle streams are looked for, in milliseconds.
    private static let evictionInterval: Int64 = 5000
    /// How many people are kept, all streams together: about 50 MiB.
    private static let peopleLimit = 200_000

    init(_ limits: Limits, at now: Timestamp) {
        nextEviction = now
        recentLimit = limits.recentBytes
        recentsLimit = limits.recentBytesInAll
    }

    /// The limits were reloaded.
    func adopt(_ limits: Limits) {
        recentLimit = limits.recentBytes
        recentsLimit = limits.recentBytesInAll
    }

    subscript(_ id: ID) -> Stream? {
        get { byID[id] }
        set { byID[id] = newValue }
    }

    var count: Int { byID.count }
    /// In no order.
    var values: Dictionary<ID, Stream>.Values { byID.values }

    /// Whether the stream is in memory, and not another one of its name.
    func has(_ stream: Stream) -> Bool { byID[stream.id.id] === stream }

    /// Whether idle streams are to be looked for: then not again for a while.
    func takeEvictionDue(at now: Timestamp) -> Bool {
        guard now >= nextEviction else { return false }
        nextEviction = now.adding(Self.evictionInterval)
        return true
    }

    /// Forgets the streams that nobody has looked at for longest, of more than `limit`.
    func evict(beyond limit: Int) {
        guard count > limit else { return }
        // By name as well: a table's order is another one in each process, a simulation's must not
        // be.
        let idle = values.filter(\.isIdle).sorted { ($0.lastUsed, $0.id) < ($1.lastUsed, $1.id) }
        for stream in idle.prefix(count - limit) { byID[stream.id.id] = nil }
    }

    /// The origin has said who takes part, which is kept for when it is away.
    /// - Parameter record: the change of slot 0 that was known when it was asked.
    func keep(
        _ list: ParticipantList, _ range: ParticipantsRequest, as record: Int, _ stream: Stream
    ) {
        people -= stream.reading.readership.roster.count
        stream.reading.readership.roster.adopt(list, range, as: record)
        people += stream.reading.readership.roster.count
        guard people > Self.peopleLimit else { return }
        // Streams that were dropped took theirs with them.
        people = values.reduce(0) { $0 + $1.reading.readership.roster.count }
        guard people > Self.peopleLimit else { return }
        for stream in values { stream.reading.readership.roster.forget() }
        people = 0
    }

    /// The log has moved by one change, right behind the one before. It is kept at hand from the
    /// first subscriber on, also while nobody watches: those who lost their connections together
    /// come back together.
    func remember(_ message: EncodedMessage?, from: Head, to head: Head, _ stream: Stream) {
        guard !stream.subscribers.isEmpty || stream.recent.bytes > 0 else { return }
        let before = stream.recent.bytes
        stream.recent.append(message, from: from, to: head, limit: recentLimit)
        recentBytes += stream.recent.bytes - before
        guard recentBytes > recentsLimit else { return }
        // Streams that were dropped took theirs with them.
        recentBytes = values.reduce(0) { $0 + $1.recent.bytes }
        guard recentBytes > recentsLimit else { return }
        for stream in values { stream.recent.forget() }
        recentBytes = 0
    }
}

extension Collection<Stream> {
    /// A table's order is another one in each process; a simulation's must not be.
    var inOrder: [Stream] { sorted { $0.id < $1.id } }
}
