/// Decodes the frames of one client (RFC 6455 5): unmasks them, joins fragments, and makes the
/// checks that the standard requires of a server. Pure and incremental: bytes go in as they come
/// from the socket; complete messages and control frames come out one at a time. Memory: at most
/// one message of `limit` bytes and one control frame.
package struct FrameDecoder {
    /// A decoded message or control frame.
    package enum Message: Equatable {
        case text([UInt8])
        case binary([UInt8])
        case ping([UInt8])
        case pong
        /// The code is nil if the frame has none.
        case close(code: UInt16?)
        /// A fragment no longer than a control frame, reported so that it can be charged.
        case fragment

        var isBinary: Bool {
            if case .binary = self { true } else { false }
        }

        /// Whether no other quota charges it.
        var isFree: Bool {
            switch self {
            case .text, .binary, .close: false
            case .ping, .pong, .fragment: true
            }
        }
    }

    /// Why decoding can't continue. The connection fails with `closeCode`.
    package enum Fault: Error, Equatable {
        case brokenFrame(String)
        case invalidUTF8
        case tooLarge(limit: Int)

        package var closeCode: UInt16 {
            switch self {
            case .brokenFrame: 1002
            case .invalidUTF8: 1007
            case .tooLarge: 1009
            }
        }

        /// The reason for the close frame.
        package var reason: String {
            switch self {
            case .brokenFrame(let what): what
            case .invalidUTF8: "invalid UTF-8"
            case .tooLarge(let limit): "message above \(limit) bytes"
            }
        }
    }

    /// The size of a message in bytes. After `.tooLarge` it may be raised, and the decoder goes on.
    package var limit: Int
    /// The received part of the header: two bytes, up to eight of length, four of mask.
    private var header = InlineArray<14, UInt8>(repeating: 0)
    private var headerCount = 0
    /// The opcode of the frame whose payload is being read; nil between frames.
    private var opcode: Frame.Opcode?
    private var isFinal = true
    private var mask = InlineArray<4, UInt8>(repeating: 0)
    private var maskPhase = 0
    private var remaining = 0
    private var isShort = false
    /// The message that is being assembled, and its first opcode.
    private var message: [UInt8] = []
    private var messageOpcode: Frame.Opcode?
    private var control: [UInt8] = []

    /// The memory reserved for incomplete messages and frames.
    package var reservedBytes: Int { message.capacity + control.capacity }

    package init(limit: Int) {
        self.limit = limit
    }

    /// Reads from `offset` until a message or control frame is complete; nil when the input is used
    /// up.
    ///
    /// - Throws: `Fault`; nothing after it may be read, unless `limit` is raised.
    package mutating func next(
        in input: Span<UInt8>, at offset: inout Int
    ) throws(Fault) -> Message? {
        while true {
            if opcode == nil {
                guard try readHeader(input, &offset) else { return nil }
            }
            readPayload(input, &offset)
            guard remaining == 0 else { return nil }
            if let message = try finishFrame() { return message }
        }
    }

    /// - Returns: whether the header is complete.
    private mutating func readHeader(
        _ input: Span<UInt8>, _ offset: inout Int
    ) throws(Fault) -> Bool {
        while true {
            if headerCount == 2 { try checkStart() }
            if headerCount >= 2, headerCount == headerLength { break }
            guard offset < input.count else { return false }
            header[headerCount] = input[offset]
            headerCount += 1
            offset += 1
        }
        let length = try payloadLength()
        for index in 0..<4 { mask[index] = header[headerCount - 4 + index] }
        let opcode = Frame.Opcode(rawValue: header[0] & 0x0F)
        if let opcode, !opcode.isControl, message.count + length > limit {
            throw .tooLarge(limit: limit)
        }
        self.opcode = opcode
        isFinal = header[0] & 0x80 != 0
        remaining = length
        isShort = length <= Int(Frame.controlLimit)
        maskPhase = 0
        headerCount = 0
        return true
    }

    private var headerLength: Int {
        switch header[1] & 0x7F {
        case 126: 8
        case 127: 14
        default: 6
        }
    }

    /// Checks what the first two bytes alone can get wrong.
    private func checkStart() throws(Fault) {
        guard header[0] & 0x70 == 0 else { throw .brokenFrame("reserved bit") }
        guard let opcode = Frame.Opcode(rawValue: header[0] & 0x0F) else {
            throw .brokenFrame("reserved opcode")
        }
        guard header[1] & 0x80 != 0 else { throw .brokenFrame("frame without mask") }
        if opcode.isControl {
            guard header[0] & 0x80 != 0 else { throw .brokenFrame("fragmented control frame") }
            guard header[1] & 0x7F <= Frame.controlLimit else {
                throw .brokenFrame("long control frame")
            }
        } else if opcode == .continuation {
            guard messageOpcode != nil else { throw .brokenFrame("continuation of nothing") }
        } else {
            guard messageOpcode == nil else { throw .brokenFrame("message inside a message") }
        }
    }

    private func payloadLength() throws(Fault) -> Int {
        let short = Int(header[1] & 0x7F)
        guard short >= 126 else { return short }
        var length: UInt64 = 0
        for index in 2..<(headerLength - 4) { length = length << 8 | UInt64(header[index]) }
        guard length > (short == 126 ? 125 : 0xFFFF), length <= UInt64(Int.max) else {
            throw .brokenFrame("length not in its shortest form")
        }
        return Int(length) > limit ? limit + 1 : Int(length)
    }

    private mutating func readPayload(_ input: Span<UInt8>, _ offset: inout Int) {
        let count = min(remaining, input.count - offset)
        guard count > 0, let opcode else { return }
        let piece = input.extracting(offset..<offset + count)
        if opcode.isControl {
            Self.append(piece, unmaskedBy: mask, from: maskPhase, to: &control)
        } else {
            if message.isEmpty { message.reserveCapacity(remaining) }
            Self.append(piece, unmaskedBy: mask, from: maskPhase, to: &message)
        }
        maskPhase = (maskPhase + count) & 3
        offset += count
        remaining -= count
    }

    /// Eight bytes at a time, since each byte that a client sends passes here.
    private static func append(
        _ piece: Span<UInt8>, unmaskedBy mask: InlineArray<4, UInt8>, from phase: Int,
        to bytes: inout [UInt8]
    ) {
        var key: UInt64 = 0
        for index in 0..<8 { key |= UInt64(mask[(phase + index) & 3]) << (8 * index) }
        key = key.littleEndian
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: piece.count))
        var span = bytes.mutableSpan
        var target = span.mutableBytes
        let source = piece.bytes
        var at = 0
        while piece.count - at >= 8 {
            let word = source.unsafeLoadUnaligned(fromByteOffset: at, as: UInt64.self) ^ key
            target.storeBytes(of: word, toByteOffset: start + at, as: UInt64.self)
            at += 8
        }
        while at < piece.count {
            let byte = piece[at] ^ mask[(phase + at) & 3]
            target.storeBytes(of: byte, toByteOffset: start + at, as: UInt8.self)
            at += 1
        }
    }

    /// Called when the payload of a frame is complete.
    ///
    /// - Returns: nil if the frame was a fragment of an unfinished message.
    private mutating func finishFrame() throws(Fault) -> Message? {
        guard let opcode else { return nil }
        self.opcode = nil
        switch opcode {
        case .ping:
            defer { control = [] }
            return .ping(control)
        case .pong:
            control = []
            return .pong
        case .close:
            defer { control = [] }
            return .close(code: try Self.closeCode(in: control))
        case .text, .binary: messageOpcode = opcode
        case .continuation: break
        }
        guard isFinal else { return isShort ? .fragment : nil }
        let isText = messageOpcode == .text
        defer {
            // A new array, not an emptied one: an idle connection holds no memory.
            message = []
            messageOpcode = nil
        }
        if isText, !Self.isUTF8(message) { throw .invalidUTF8 }
        return isText ? .text(message) : .binary(message)
    }

    /// The code of a close frame, if it is one that may be sent (RFC 6455 7.4).
    private static func closeCode(in payload: [UInt8]) throws(Fault) -> UInt16? {
        if payload.isEmpty { return nil }
        guard payload.count >= 2 else { throw .brokenFrame("close code of one byte") }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: break
        default: throw .brokenFrame("close code that is not sent")
        }
        guard isUTF8(Array(payload[2...])) else { throw .invalidUTF8 }
        return code
    }

    private static func isUTF8(_ bytes: [UInt8]) -> Bool {
        (try? UTF8Span(validating: bytes.span)) != nil
    }
}
