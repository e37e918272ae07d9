import Testing
import Wire

/// Frames as RFC 6455 wants them.
@Suite struct FrameTests {
    @Test(
        arguments: [
            (0, [0x81, 0]), (1, [0x81, 1]), (125, [0x81, 125]), (126, [0x81, 126, 0, 126]),
            (65_535, [0x81, 126, 255, 255]), (65_536, [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] as [(Int, [UInt8])])
    func hasTheShortestHeaderForItsLength(count: Int, header: [UInt8]) {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let frame = Frame(payload)
        #expect(frame.bytes == header + payload)
        #expect(frame.payloadCount == count)
    }

    @Test func aPingIsEmpty() {
        #expect(Frame.ping.bytes == [0x89, 0])
    }

    @Test(arguments: CloseCode.allCases)
    func aCloseFrameCarriesCodeAndReason(code: CloseCode) {
        let frame = Frame.close(code)
        let head = [0x88, UInt8(frame.payloadCount), UInt8(code.rawValue >> 8)]
        #expect(frame.bytes == head + [UInt8(code.rawValue & 0xFF)] + Array(code.reason.utf8))
    }

    @Test func aLongReasonEndsWithAWholeCharacter() {
        let frame = Frame.close(.draining, reason: "a" + String(repeating: "é", count: 100))
        #expect(frame.payloadCount == 2 + 1 + 122)
        #expect(String(validating: frame.bytes.dropFirst(4), as: UTF8.self) != nil)
        let even = Frame.close(.draining, reason: String(repeating: "é", count: 100))
        #expect(even.payloadCount == 2 + 122)
        #expect(String(validating: even.bytes.dropFirst(4), as: UTF8.self) != nil)
    }
}
