import Chat
import Ports
import Wire

/// The streams in memory by id, and the limit on all their recent changes together. Shared by the
/// parts of an engine.
final class StreamRegistry {
    private var byID: [ID: Stream] = [:]
    /// Bytes of recent changes in all streams, or somewhat more.
    private var recentBytes = 0
    /// Limits for one stream and for all.
    private var recentLimit: Int
    private var recentsLimit: Int
    /// How many participants are kept in all streams, or somewhat more.
    private var people = 0
    /// When to look for idle streams again.
    private var nextEviction: Timestamp

    /// Milliseconds between two looks for idle streams.
    private static let evictionInterval: Int64 = 5000
    /// How many participants are kept in all streams: about 50 MiB.
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

    /// Whether this very stream is in memory, not another with its id.
    func has(_ stream: Stream) -> Bool { byID[stream.id.id] === stream }

    /// Whether it is time to look for idle streams; starts the next interval.
    func takeEvictionDue(at now: Timestamp) -> Bool {
        guard now >= nextEviction else { return false }
        nextEviction = now.adding(Self.evictionInterval)
        return true
    }

    /// Evicts the least recently used idle streams while there are more than `limit`.
    func evict(beyond limit: Int) {
        guard count > limit else { return }
        // Sorted by id as well: the order of a dictionary differs between processes, and a
        // simulation must repeat.
        let idle = values.filter(\.isIdle).sorted { ($0.lastUsed, $0.id) < ($1.lastUsed, $1.id) }
        for stream in idle.prefix(count - limit) { byID[stream.id.id] = nil }
    }

    /// Keeps the origin's answer about participants, for when the origin is away.
    /// - Parameter record: the change of slot 0 known when the question was asked.
    func keep(
        _ list: ParticipantList, _ range: ParticipantsRequest, as record: Int, _ stream: Stream
    ) {
        people -= stream.reading.readership.roster.count
        stream.reading.readership.roster.adopt(list, range, as: record)
        people += stream.reading.readership.roster.count
        guard people > Self.peopleLimit else { return }
        // Evicted streams took theirs with them.
        people = values.reduce(0) { $0 + $1.reading.readership.roster.count }
        guard people > Self.peopleLimit else { return }
        for stream in values { stream.reading.readership.roster.forget() }
        people = 0
    }

    /// The log moved by one change that continues the last. Changes are kept from the first
    /// subscriber on, also after all have left: clients that lost their connections together come
    /// back together.
    func remember(_ message: EncodedMessage?, from: Head, to head: Head, _ stream: Stream) {
        guard !stream.subscribers.isEmpty || stream.recent.bytes > 0 else { return }
        let before = stream.recent.bytes
        stream.recent.append(message, from: from, to: head, limit: recentLimit)
        recentBytes += stream.recent.bytes - before
        guard recentBytes > recentsLimit else { return }
        // Evicted streams took theirs with them.
        recentBytes = values.reduce(0) { $0 + $1.recent.bytes }
        guard recentBytes > recentsLimit else { return }
        for stream in values { stream.recent.forget() }
        recentBytes = 0
    }
}

extension Collection<Stream> {
    /// Sorted by id: the order of a dictionary differs between processes, and a simulation must
    /// repeat.
    var inOrder: [Stream] { sorted { $0.id < $1.id } }
}
