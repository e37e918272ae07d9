/// How the messages of a fan-out look to a peer: all of the same size, and with what its protocol
/// wants around them.
struct PeerWire: Sendable {
    /// Of a message.
    let bytes: Int
    let dialect: Peer.Dialect
    let publishers: Int

    var isNATS: Bool { dialect != .frames }
    /// Whether each message is answered.
    var isAcknowledged: Bool { dialect == .jetStream }
    /// Whether a message says where it is to go; otherwise its connection does.
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
