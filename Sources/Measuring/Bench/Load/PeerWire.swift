/// The format of a fan-out's messages for a peer: all of the same size, in the framing of its
/// protocol.
struct PeerWire: Sendable {
    /// The size of a message.
    let bytes: Int
    let dialect: Peer.Dialect
    let publishers: Int

    var isNATS: Bool { dialect != .frames }
    /// Whether each message is acknowledged.
    var isAcknowledged: Bool { dialect == .jetStream }
    /// Whether a message names its room; otherwise its connection does.
    var namesRooms: Bool { isNATS }

    func message(_ number: Int, room: Int) -> [UInt8] {
        let event = DeltaLedger.event(number, bytes: bytes)
        return switch dialect {
        case .frames: event
        case .nats: NATS.publication(event, room: room)
        case .jetStream:
            NATS.publication(
                event, room: room, number: number, publisher: number % publishers)
        }
    }
}
