import Testing

@testable import WebSockets

@Suite struct FrameDecoderTests {
    /// Feeds bytes in pieces and gathers what comes out.
    private func decode(
        _ pieces: [[UInt8]], limit: Int = 1 << 20
    ) -> (messages: [FrameDecoder.Message], fault: FrameDecoder.Fault?) {
        var decoder = FrameDecoder(limit: limit)
        var messages: [FrameDecoder.Message] = []
        do {
            for piece in pieces {
                var offset = 0
                while let message = try decoder.next(in: piece.span, at: &offset) {
                    messages.append(message)
                }
            }
        } catch {
            return (messages, error)
        }
        return (messages, nil)
    }

    @Test func anyCutOfTheStreamGivesTheSameMessages() {
        for seed in UInt64(1)...200 {
            var random = SplitMix64(state: seed)
            var stream: [UInt8] = []
            var expected: [FrameDecoder.Message] = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                // The sizes at which a header grows; the large ones seldom, because they are slow.
                let sizes = seed.isMultiple(of: 50) ? [65_535, 65_536] : [0, 1, 5, 125, 126, 300]
                let size = sizes.randomElement(using: &random) ?? 0
                let payload = (0..<size).map { UInt8(97 + $0 % 26) }
                let isText = Bool.random(using: &random)
                expected.append(contentsOf: append(payload, isText, to: &stream, &random))
            }
            var pieces: [[UInt8]] = []
            var rest = stream[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...max(1, stream.count / 3), using: &random)
                pieces.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            let (messages, fault) = decode(pieces)
            #expect(fault == nil, "seed \(seed)")
            #expect(messages == expected, "seed \(seed)")
        }
    }

    /// One message in one to four fragments, with pings between them.
    private func append(
        _ payload: [UInt8], _ isText: Bool, to stream: inout [UInt8], _ random: inout SplitMix64
    ) -> [FrameDecoder.Message] {
        var messages: [FrameDecoder.Message] = []
        let fragments = Int.random(in: 1...4, using: &random)
        var rest = payload[...]
        for index in 1...fragments {
            let isLast = index == fragments
            let count = isLast ? rest.count : Int.random(in: 0...rest.count, using: &random)
            let mask = (0..<4).map { _ in UInt8.random(in: 0...255, using: &random) }
            stream += RawClient.masked(
                index > 1 ? 0 : isText ? 1 : 2, Array(rest.prefix(count)), isFinal: isLast,
                mask: mask)
            rest = rest.dropFirst(count)
            if !isLast, count <= Frame.controlLimit { messages.append(.fragment) }
            if !isLast, Bool.random(using: &random) {
                stream += RawClient.masked(9, [UInt8(index)], mask: mask)
                messages.append(.ping([UInt8(index)]))
            }
        }
        messages.append(isText ? .text(payload) : .binary(payload))
        return messages
    }

    @Test func randomBytesNeverDoMoreThanFault() {
        for seed in UInt64(1)...2000 {
            var random = SplitMix64(state: seed)
            let bytes = (0..<200).map { _ in UInt8.random(in: 0...255, using: &random) }
            let (messages, fault) = decode([bytes], limit: 100)
            let size = messages.reduce(0) { total, message in
                switch message {
                case .text(let bytes), .binary(let bytes), .ping(let bytes): total + bytes.count
                case .pong, .close, .fragment: total
                }
            }
            #expect(size <= bytes.count, "seed \(seed)")
            #expect([1002, 1007, 1009, nil].contains(fault?.closeCode), "seed \(seed)")
        }
    }

    struct Broken: CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var code: UInt16

        init(_ what: String, _ bytes: [UInt8], _ code: UInt16) {
            (testDescription, self.bytes, self.code) = (what, bytes, code)
        }
    }

    static let broken: [Broken] = [
        Broken("no mask", [0x81, 0x01, 0x61], 1002),
        Broken("reserved bit", RawClient.masked(0x41, []), 1002),
        Broken("reserved data opcode", RawClient.masked(3, []), 1002),
        Broken("reserved control opcode", RawClient.masked(0xB, []), 1002),
        Broken("continuation of nothing", RawClient.masked(0, [1]), 1002),
        Broken(
            "message inside a message",
            RawClient.masked(1, [97], isFinal: false) + RawClient.masked(1, [98]), 1002
        ),
        Broken("fragmented ping", RawClient.masked(9, [], isFinal: false), 1002),
        Broken("long ping", RawClient.masked(9, [UInt8](repeating: 0, count: 126)), 1002),
        Broken("length longer than it need be", [0x81, 0xFE, 0, 1, 0, 0, 0, 0, 97], 1002),
        Broken("negative length", [0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1002),
        Broken("close code of one byte", RawClient.masked(8, [3]), 1002),
        Broken("close code 1005", RawClient.masked(8, [0x03, 0xED]), 1002),
        Broken("close code 2999", RawClient.masked(8, [0x0B, 0xB7]), 1002),
        Broken("close reason not UTF-8", RawClient.masked(8, [0x03, 0xE8, 0xFF]), 1007),
        Broken("text not UTF-8", RawClient.masked(1, [0xC3, 0x28]), 1007),
        Broken("text with half a character", RawClient.masked(1, [0xE2, 0x82]), 1007),
        Broken("text with a surrogate", RawClient.masked(1, [0xED, 0xA0, 0x80]), 1007),
        Broken("above the limit", RawClient.masked(1, [UInt8](repeating: 97, count: 1001)), 1009),
        Broken(
            "above the limit in sum",
            RawClient.masked(1, [UInt8](repeating: 97, count: 600), isFinal: false)
                + RawClient.masked(0, [UInt8](repeating: 97, count: 401)), 1009
        ),
    ]

    @Test(arguments: broken)
    func aBrokenFrameIsNamedByItsCloseCode(_ broken: Broken) {
        let (messages, fault) = decode([broken.bytes], limit: 1000)
        #expect(messages.allSatisfy { $0 == .fragment })
        #expect(fault?.closeCode == broken.code)
    }

    @Test func aSizeAboveTheLimitIsRefusedBeforeItsPayloadComes() {
        let header = [UInt8]([0x81, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4])
        #expect(decode([header], limit: 1000).fault == .tooLarge(limit: 1000))
    }

    @Test func aCharacterMayBeCutByAFragment() {
        let euro: [UInt8] = [0xE2, 0x82, 0xAC]
        let stream =
            RawClient.masked(1, [0xE2], isFinal: false) + RawClient.masked(0, [0x82, 0xAC])
        #expect(decode([stream]).messages == [.fragment, .text(euro)])
    }
}
