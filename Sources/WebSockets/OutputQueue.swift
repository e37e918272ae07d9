/// The bytes of a connection that the kernel has not taken yet. Empty unless the socket is blocked:
/// then the library holds the rest of one write, and everything after it waits here.
struct OutputQueue {
    /// The length of the write that the kernel took in part.
    var stalled = 0
    /// The connection's phase once everything is sent; nil: the phase stays.
    var phaseAfter: PeerConnection.Phase?
    private var bytes: [UInt8] = []
    private var offset = 0

    /// Whether the library holds the rest of a write.
    var isBlocked: Bool { stalled > 0 }
    /// Bytes that are not sent; the write that the library holds counts in full.
    var unsent: Int { stalled + bytes.count - offset }
    /// Whether nothing waits here.
    var isEmpty: Bool { offset == bytes.count }

    mutating func append(_ more: some Collection<UInt8>) { bytes.append(contentsOf: more) }

    /// Appends what follows the first bytes of a body, without a copy where nothing else waits.
    mutating func append(_ body: [UInt8], from first: Int) {
        if isEmpty {
            bytes = body
            offset = first
        } else {
            bytes.append(contentsOf: body[first...])
        }
    }

    /// The next bytes to write, at most `limit`.
    func next(_ limit: Int) -> ArraySlice<UInt8> {
        bytes[offset..<min(bytes.count, offset + limit)]
    }

    /// Removes bytes that the library has taken, and frees the memory after the last one.
    mutating func remove(_ count: Int) {
        offset += count
        guard isEmpty else { return }
        bytes = []
        offset = 0
    }
}
