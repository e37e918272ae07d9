/// The id of one connection. An id is never reused while the process lives, so one that outlived
/// its connection is harmless: calls with it are ignored.
package struct SocketID: Sendable, Hashable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The highest bits hold the server's number, so that the ids of server 0 are small.
    fileprivate static let serverShift: UInt64 = 57
    /// How many servers can have distinct ids; the sign bit of an `Int64` stays free.
    package static let serverLimit = 64

    /// The server to which it belongs, of those that share their connections.
    package var server: Int { Int(rawValue >> Self.serverShift) }
}

/// The connections of one server. An id has the slot of its connection in its low bits, a serial
/// number above, then the number of its server, so that a lookup, which every send needs, is an
/// index and a comparison. Used on the loop thread.
struct ConnectionTable {
    /// Enough for more sockets than a process can have here: see `ProcessSettings.descriptorLimit`.
    private static let slotBits: UInt64 = 20

    /// The number of the server, shifted into its bits.
    private let origin: UInt64
    private var slots: [PeerConnection?] = []
    private var free: [Int] = []
    private var serial: UInt64 = 0
    private(set) var count = 0

    init(server: Int) {
        precondition((0..<SocketID.serverLimit).contains(server), "a number that ids can hold")
        origin = UInt64(server) << SocketID.serverShift
    }

    subscript(id: SocketID) -> PeerConnection? {
        let slot = Int(id.rawValue & (1 << Self.slotBits - 1))
        guard slot < slots.count, let connection = slots[slot], connection.id == id else {
            return nil
        }
        return connection
    }

    /// Makes a connection under a new id; nil when the table is full.
    mutating func insert(_ make: (SocketID) -> PeerConnection) -> PeerConnection? {
        let slot = free.popLast() ?? slots.count
        guard slot < 1 << Self.slotBits else { return nil }
        serial += 1
        let connection = make(SocketID(rawValue: origin | serial << Self.slotBits | UInt64(slot)))
        if slot == slots.count {
            slots.append(connection)
        } else {
            slots[slot] = connection
        }
        count += 1
        return connection
    }

    func forEach(_ body: (PeerConnection) -> Void) {
        for case let connection? in slots { body(connection) }
    }

    mutating func remove(_ id: SocketID) -> PeerConnection? {
        guard let connection = self[id] else { return nil }
        let slot = Int(id.rawValue & (1 << Self.slotBits - 1))
        slots[slot] = nil
        free.append(slot)
        count -= 1
        return connection
    }
}
