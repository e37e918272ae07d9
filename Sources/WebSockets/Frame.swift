/// Encodes RFC 6455 frames, server side: never masked, never fragmented.
package enum Frame {
    package enum Opcode: UInt8, Sendable, CaseIterable {
        case continuation = 0x0
        case text = 0x1
        case binary = 0x2
        case close = 0x8
        case ping = 0x9
        case pong = 0xA

        var isControl: Bool { rawValue >= 0x8 }
    }

    /// The most payload bytes of a control frame (RFC 6455 5.5).
    static let controlLimit = 125

    /// An empty ping, ready to be sent.
    package static let ping: [UInt8] = [0x80 | Opcode.ping.rawValue, 0]

    /// Appends the header of a frame whose payload has `count` bytes.
    package static func appendHeader(_ opcode: Opcode, count: Int, to bytes: inout [UInt8]) {
        bytes.append(0x80 | opcode.rawValue)
        switch count {
        case ...125: bytes.append(UInt8(count))
        case ...0xFFFF:
            bytes.append(126)
            bytes.append(UInt8(truncatingIfNeeded: count >> 8))
            bytes.append(UInt8(truncatingIfNeeded: count))
        default:
            bytes.append(127)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: count >> shift))
            }
        }
    }

    /// A complete frame.
    package static func frame(_ opcode: Opcode, _ payload: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(payload.count + 10)
        appendHeader(opcode, count: payload.count, to: &bytes)
        bytes.append(contentsOf: payload)
        return bytes
    }

    /// A close frame; a reason that does not fit is truncated at a character.
    static func close(code: UInt16, reason: String) -> [UInt8] {
        var payload = [UInt8(code >> 8), UInt8(truncatingIfNeeded: code)]
        for character in reason {
            guard payload.count + character.utf8.count <= controlLimit else { break }
            payload.append(contentsOf: character.utf8)
        }
        return frame(.close, payload)
    }
}
