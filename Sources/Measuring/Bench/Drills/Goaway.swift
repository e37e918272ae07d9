import JSON

/// The event that sends a client away, with its slot for coming back.
struct Goaway {
    /// The time until the slot, from the receipt.
    let delay: Nanoseconds

    private static let beginning = Pattern("{\"event\":\"goaway\"")

    /// Nil for another event.
    /// - Throws: `BenchError.failure` if it has no slot.
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
