/// One write of the same bytes to many sockets. Owned by the server; its memory is used again.
struct GatheredSends {
    private var sockets: [LibrarySocket?] = []
    /// How many of them are written without the library.
    private var plainCount = 0
    private var ring: SendRing?
    /// Whether a ring is to be made, by the thread that will use it.
    private var wantsRing: Bool

    init(usesRing: Bool) { wantsRing = usesRing }

    init(by ring: SendRing?) { (self.ring, wantsRing) = (ring, false) }

    /// Whether writes go by io_uring.
    var isByRing: Bool { ring != nil }

    mutating func removeAll() {
        sockets.removeAll(keepingCapacity: true)
        plainCount = 0
    }

    mutating func append(_ socket: LibrarySocket?) {
        sockets.append(socket)
        if socket?.plainDescriptor != nil { plainCount += 1 }
    }

    /// Writes the whole buffer to each of the sockets.
    /// - Returns: the sockets that were not written completely, by their indices, in order.
    mutating func write(
        _ buffer: inout SendBuffer
    ) -> [(place: Int, outcome: LibrarySocket.Outcome)] {
        makeRing()
        let count = buffer.count
        var others: [(place: Int, outcome: LibrarySocket.Outcome)] = []
        buffer.withBytes(from: 0) { bytes in
            var taken = ArraySlice<Int32>()
            if let ring, plainCount >= SendRing.fewest {
                let descriptors = sockets.lazy.compactMap { $0?.plainDescriptor }
                taken = ring.send(bytes, count: count, to: descriptors)
                // One that failed is of no use; the sockets that it did not try are written below.
                if ring.hasFailed { self.ring = nil }
            }
            for place in sockets.indices {
                guard let socket = sockets[place] else {
                    others.append((place, .untried))
                    continue
                }
                let part = socket.plainDescriptor == nil ? nil : taken.popFirst()
                if let outcome = socket.write(bytes, count: count, taken: part) {
                    others.append((place, outcome))
                }
            }
        }
        return others
    }

    private mutating func makeRing() {
        guard wantsRing else { return }
        wantsRing = false
        ring = SendRing()
    }
}
