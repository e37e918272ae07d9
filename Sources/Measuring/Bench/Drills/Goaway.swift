import JSON

/// The event that sends a client away: when it is to come back, its slot.
struct Goaway {
    /// From when it was received.
    let delay: Nanoseconds

    private static let beginning = Pattern("{\"event\":\"goaway\"")

    /// Nil for another event.
    /// - Throws: `BenchError.failure` where it gives no slot.
    init?(_ payload: Span<UInt8>) throws(BenchError) {
        let head = payload.extracting(first: Self.beginning.count)
        guard Bytes.find(Self.beginning, in: head) == 0 else { return nil }
        let event = try? JSONObject(Bytes.copy(payload))
        guard let wait = event?["reconnectIn"]?.int, wait >= 0 else {
            throw .failure("reading a goaway: it has no slot")
        }
        delay = wait * Clock.millisecond
    }
}
