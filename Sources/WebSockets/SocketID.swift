/// The name of one connection. The number is never given twice while the process lives, so an id
/// that outlived its connection is harmless: whatever is asked of it is ignored.
package struct SocketID: Sendable, Hashable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// The connections of one server. An id carries the slot of its connection in its low bits and a
/// serial number above, so that finding one is an index and a comparison: it happens for every
/// send. Touched on the loop thread.
struct ConnectionTable {
    /// More sockets than a process can have here: see `ServiceLoop.descriptorLimit`.
    private static let slotBits: UInt64 = 20

    private var slots: [Connection?] = []
    private var free: [Int] = []
    private var serial: UInt64 = 0
    private(set) var count = 0

    subscript(id: SocketID) -> Connection? {
        let slot = Int(id.rawValue & (1 << Self.slotBits - 1))
        guard slot < slots.count, let connection = slots[slot], connection.id == id else {
            return nil
        }
        return connection
    }

    /// Makes a connection under a new id; nil when the table is full.
    mutating func insert(_ make: (SocketID) -> Connection) -> Connection? {
        let slot = free.popLast() ?? slots.count
        guard slot < 1 << Self.slotBits else { return nil }
        serial += 1
        let connection = make(SocketID(rawValue: serial << Self.slotBits | UInt64(slot)))
        if slot == slots.count {
            slots.append(connection)
        } else {
            slots[slot] = connection
        }
        count += 1
        return connection
    }

    func forEach(_ body: (Connection) -> Void) {
        for case let connection? in slots { body(connection) }
    }

    mutating func remove(_ id: SocketID) -> Connection? {
        guard let connection = self[id] else { return nil }
        let slot = Int(id.rawValue & (1 << Self.slotBits - 1))
        slots[slot] = nil
        free.append(slot)
        count -= 1
        return connection
    }
}
