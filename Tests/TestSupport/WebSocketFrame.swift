/// One RFC 6455 frame, written for the tests alone so that they check the gateway's framing and
/// don't share it. Reserved bits, opcodes and masking can all be wrong on purpose.
package struct WebSocketFrame: Sendable, Hashable {
    package enum Opcode: UInt8, Sendable {
        case continuation = 0
        case text = 1
        case binary = 2
        case close = 8
        case ping = 9
        case pong = 10
    }

    package var opcode: UInt8
    package var isFinal: Bool
    package var reservedBits: UInt8
    package var payload: [UInt8]

    package init(
        _ opcode: Opcode, _ payload: [UInt8], isFinal: Bool = true, reservedBits: UInt8 = 0
    ) {
        self.init(
            rawOpcode: opcode.rawValue, payload, isFinal: isFinal, reservedBits: reservedBits)
    }

    package init(
        rawOpcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, reservedBits: UInt8 = 0
    ) {
        self.opcode = rawOpcode
        self.isFinal = isFinal
        self.reservedBits = reservedBits
        self.payload = payload
    }

    /// The frame as a client sends it: masked, unless the test wants to break that rule.
    package func encoded(mask: [UInt8]? = [0x37, 0xFA, 0x21, 0x3D]) -> [UInt8] {
        var bytes: [UInt8] = [(isFinal ? 0x80 : 0) | (reservedBits << 4) | opcode]
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        switch payload.count {
        case ..<126: bytes.append(maskBit | UInt8(payload.count))
        case ..<65536: bytes += [maskBit | 126] + Self.bigEndian(payload.count, bytes: 2)
        default: bytes += [maskBit | 127] + Self.bigEndian(payload.count, bytes: 8)
        }
        guard let mask else { return bytes + payload }
        bytes += mask
        bytes.reserveCapacity(bytes.count + payload.count)
        for (index, byte) in payload.enumerated() { bytes.append(byte ^ mask[index & 3]) }
        return bytes
    }

    package static func bigEndian(_ value: Int, bytes: Int) -> [UInt8] {
        (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}

/// Cuts the bytes of a server into frames.
package struct WebSocketFrameReader: Sendable {
    private var buffer: [UInt8] = []
    private var start = 0

    package init() {}

    package mutating func append(_ bytes: [UInt8]) {
        if start > 1 << 20 || start == buffer.count {
            buffer.removeFirst(start)
            start = 0
        }
        buffer += bytes
    }

    /// - Throws: `TestFailure` where the server sent what a server may not send.
    package mutating func next() throws -> WebSocketFrame? {
        guard buffer.count - start >= 2 else { return nil }
        let first = buffer[start]
        let second = buffer[start + 1]
        guard second & 0x80 == 0 else { throw TestFailure("the server masked a frame") }
        guard first & 0x70 == 0 else { throw TestFailure("the server set a reserved bit") }
        let extra = second == 126 ? 2 : second == 127 ? 8 : 0
        guard buffer.count - start >= 2 + extra else { return nil }
        var length = Int(second)
        if extra > 0 {
            length = buffer[(start + 2)..<(start + 2 + extra)].reduce(0) { $0 << 8 | Int($1) }
            let least = extra == 2 ? 126 : 65536
            guard length >= least else { throw TestFailure("a frame length is not minimal") }
        }
        let low = start + 2 + extra
        guard buffer.count - low >= length else { return nil }
        start = low + length
        return WebSocketFrame(
            rawOpcode: first & 0x0F, Array(buffer[low..<start]), isFinal: first & 0x80 != 0)
    }
}
