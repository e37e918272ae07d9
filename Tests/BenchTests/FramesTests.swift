import Testing

@testable import Bench

/// Framing and the heads of replies, byte by byte.
@Suite struct FramesTests {
    /// A frame as a server sends it.
    private func frame(_ count: Int) -> [UInt8] {
        let payload = [UInt8](repeating: 7, count: count)
        switch count {
        case ..<126: return [0x81, UInt8(count)] + payload
        case ..<65536: return [0x81, 126, UInt8(count >> 8), UInt8(count & 0xFF)] + payload
        default:
            let length = (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
            return [0x81, 127] + length + payload
        }
    }

    // Spans can't pass through the macros of the tests.
    private func cut(_ bytes: [UInt8]) -> Frame? { Frame(in: bytes.span, at: 0) }

    private func reply(_ text: String) throws(BenchError) -> Reply? {
        let bytes = Array(text.utf8)
        return try Reply(bytes.span)
    }

    @Test(arguments: [0, 1, 125, 126, 65535, 65536, 70000])
    func aFrameIsWholeWithItsLastByteAndNotBefore(_ count: Int) throws {
        let bytes = frame(count)
        #expect(cut(Array(bytes.dropLast())) == nil)
        let whole = try #require(cut(bytes + [0x81]))
        #expect(whole.payload.count == count)
        #expect(whole.payload.upperBound == bytes.count)
        #expect(whole.opcode == Frame.Opcode.text)
    }

    @Test(arguments: [0, 1, 125, 126, 65535, 65536])
    func aFrameOfOursIsMaskedAndOfItsLength(_ count: Int) throws {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let bytes = Frame.masked(Frame.Opcode.text, payload)
        #expect(bytes[1] & 0x80 != 0)
        let mask = Array(bytes.suffix(count + 4).prefix(4))
        let sent = zip(bytes.suffix(count), 0...).map { $0 ^ mask[$1 & 3] }
        #expect(sent == payload)
    }

    @Test func repliesAreToldFromEvents() throws {
        let only = try #require(try reply(#"{"id":17,"result":{}}"#))
        #expect(only.id == 17 && only.isFinal && only.rest == 8)
        let first = try #require(try reply(#"{"id":17,"cached":true,"result":{}}"#))
        #expect(!first.isFinal)
        let second = try #require(try reply(#"{"id":17,"cached":false,"result":{}}"#))
        #expect(second.isFinal)
        #expect(try reply(#"{"event":"ping"}"#) == nil)
    }

    @Test func anErrorIsThrownWithItsCode() {
        let error = #expect(throws: BenchError.self) {
            try reply(#"{"id":3,"error":{"code":"not_found","message":"m"}}"#)
        }
        #expect(error?.description.contains("not_found") == true)
    }
}
