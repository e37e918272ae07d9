/// One WebSocket frame of the server in wire format: header and payload of RFC 6455, final and
/// unmasked.
///
/// Encoded once, on the loop, and immutable: the outboxes of all receivers share it, so that a
/// message to a thousand readers is framed once and held in memory once. Frames are not fragmented.
///
/// The payload is not copied behind its header: it is the text as it was encoded.
package final class Frame: Sendable {
    /// The size of header and payload in bytes.
    package let count: Int
    private let opcode: Opcode
    private let payload: [UInt8]

    /// RFC 6455, 5.2.
    private enum Opcode: UInt8 { case text = 0x1, close = 0x8, ping = 0x9 }

    /// The maximum payload of a control frame, in bytes: RFC 6455, 5.5.
    private static let controlLimit = 125

    /// A text frame; the payload is UTF-8.
    package convenience init(_ payload: [UInt8]) { self.init(.text, payload) }

    private init(_ opcode: Opcode, _ payload: [UInt8]) {
        self.opcode = opcode
        self.payload = payload
        let header =
            switch payload.count {
            case ...125: 2
            case ...0xFFFF: 4
            default: 10
            }
        count = header + payload.count
    }

    /// The size of the payload in bytes.
    package var payloadCount: Int { payload.count }

    /// Header and payload, for who wants them in one piece.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        append(to: &bytes)
        return bytes
    }

    /// Appends header and payload.
    package func append(to bytes: inout [UInt8]) {
        bytes.append(0x80 | opcode.rawValue)
        switch payload.count {
        case ...125:
            bytes.append(UInt8(payload.count))
        case ...0xFFFF:
            bytes.append(126)
            bytes.append(UInt8(payload.count >> 8))
            bytes.append(UInt8(payload.count & 0xFF))
        default:
            bytes.append(127)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(payload.count >> shift & 0xFF))
            }
        }
        bytes.append(contentsOf: payload)
    }

    /// A ping, without payload.
    package static let ping = Frame(.ping, [])

    /// A close frame with the code's own reason.
    package static func close(_ code: CloseCode) -> Frame {
        close(code, reason: code.reason)
    }

    /// A close frame. A reason that does not fit is cut at the end of a character.
    package static func close(_ code: CloseCode, reason: String) -> Frame {
        var payload = [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)]
        for scalar in reason.unicodeScalars {
            let bytes = UTF8.encode(scalar).map(Array.init) ?? []
            guard payload.count + bytes.count <= controlLimit else { break }
            payload.append(contentsOf: bytes)
        }
        return Frame(.close, payload)
    }
}
