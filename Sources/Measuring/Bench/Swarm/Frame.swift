/// RFC 6455 framing, as far as a load generator needs it: finds the ends of the gateway's frames,
/// and encodes text frames. Fragments never come, as the gateway sends none.
struct Frame {
    enum Opcode {
        static let text: UInt8 = 1
        static let binary: UInt8 = 2
        static let close: UInt8 = 8
        static let ping: UInt8 = 9
        static let pong: UInt8 = 10
    }

    let opcode: UInt8
    let payload: Range<Int>

    /// The frame that begins at `start`; nil while it is incomplete.
    init?(in bytes: Span<UInt8>, at start: Int) {
        guard bytes.count - start >= 2 else { return nil }
        opcode = bytes[start] & 0x0F
        var length = Int(bytes[start + 1] & 0x7F)
        var low = start + 2
        let extra = length == 126 ? 2 : length == 127 ? 8 : 0
        if extra > 0 {
            guard bytes.count - low >= extra else { return nil }
            length = 0
            for _ in 0..<extra {
                length = length << 8 | Int(bytes[low])
                low += 1
            }
        }
        guard bytes.count - low >= length else { return nil }
        payload = low..<(low + length)
    }

    /// Any mask will do: it protects proxies, and there is none. This one leaves the payload
    /// unchanged, so that a flooding client costs little compared with what it loads.
    private static let mask: [UInt8] = [0, 0, 0, 0]

    /// A frame in a client's form.
    static func masked(_ opcode: UInt8, _ payload: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(payload.count + 14)
        bytes.append(0x80 | opcode)
        let count = payload.count
        switch count {
        case ..<126: bytes.append(0x80 | UInt8(count))
        case ..<65536: bytes += [0x80 | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
        default:
            bytes.append(0x80 | 127)
            for shift in (0..<8).reversed() {
                bytes.append(UInt8(truncatingIfNeeded: count >> (8 * shift)))
            }
        }
        bytes += mask
        bytes += payload
        return bytes
    }
}
