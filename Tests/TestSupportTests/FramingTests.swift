import TestSupport
import Testing

/// The tests' own frames, against the examples of RFC 6455 5.7.
@Suite struct FramingTests {
    @Test func masksAsTheExampleDoes() {
        let hello = WebSocketFrame(.text, Array("Hello".utf8))
        #expect(
            hello.encoded()
                == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
    }

    @Test(arguments: [0, 1, 125, 126, 127, 65535, 65536, 70000])
    func readsWhatAServerSendsByteByByte(_ count: Int) throws {
        let frames = [
            WebSocketFrame(.text, [UInt8](repeating: 7, count: count), isFinal: false),
            WebSocketFrame(.continuation, [1, 2]),
        ]
        var reader = WebSocketFrameReader()
        var read: [WebSocketFrame] = []
        for byte in frames.flatMap({ $0.encoded(mask: nil) }) {
            reader.append([byte])
            if let frame = try reader.next() { read.append(frame) }
        }
        #expect(read == frames)
    }

    static let faults: [[UInt8]] = [
        [0x81, 0x81, 0, 0, 0, 0, 0], [0xC1, 0], [0x81, 126, 0, 5, 1, 2, 3, 4, 5],
    ]

    @Test(arguments: faults) func whatAServerMayNotSendIsReported(_ bytes: [UInt8]) {
        var reader = WebSocketFrameReader()
        reader.append(bytes)
        #expect(throws: TestFailure.self) { try reader.next() }
    }
}
