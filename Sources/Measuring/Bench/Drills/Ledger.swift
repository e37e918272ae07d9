/// A drill's counts over all its clients: what came and how, how late, and every fault. Latencies
/// are recorded sample by sample, with one clock, and never merged from quantiles.
struct Ledger {
    /// How a value reached a client.
    enum Way { case live, replay, healing }

    /// First deliveries of a message to a client, by way.
    private(set) var live = 0
    private(set) var replayed = 0
    private(set) var healed = 0
    /// Places that a gap declared to a client.
    var declared = 0
    /// Whether latencies of live deliveries are recorded now.
    var isCounting = true
    var resumes = 0
    var resets = 0
    /// Connections that ended unexpectedly, and failed attempts to connect.
    var ends = 0
    /// From when a message was due until its delivery.
    private(set) var liveLatency = Histogram()
    private(set) var replayLatency = Histogram()
    /// From the start of a client's connection to its last answer.
    var resumeLatency = Histogram()
    /// The faults, with their counts.
    private(set) var faults: [String: Int] = [:]

    var delivered: Int { live + replayed + healed }

    mutating func note(_ fault: String) { faults[fault, default: 0] += 1 }

    mutating func deliver(_ way: Way, due: Nanoseconds?, at now: Nanoseconds) {
        switch way {
        case .live:
            live += 1
            if let due, isCounting { liveLatency.record(now - due) }
        case .replay:
            replayed += 1
            if let due { replayLatency.record(now - due) }
        case .healing: healed += 1
        }
    }

    /// Starts new latencies of live deliveries.
    /// - Returns: those so far.
    mutating func takeLiveLatency() -> Histogram {
        defer { liveLatency = Histogram() }
        return liveLatency
    }
}
