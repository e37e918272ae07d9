import Crypto
import Testing

@Suite struct DigestTests {
    /// FIPS 180-2, appendix B, and an empty text; one hasher takes all of them, in any order.
    @Test func oneHasherHashesOneTextAfterAnother() {
        let known: [(String, [UInt8])] = [
            ("abc", [0xBA, 0x78, 0x16, 0xBF, 0x8F, 0x01, 0xCF, 0xEA]),
            ("", [0xE3, 0xB0, 0xC4, 0x42, 0x98, 0xFC, 0x1C, 0x14]),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                [0x24, 0x8D, 0x6A, 0x61, 0xD2, 0x06, 0x38, 0xB8]
            ),
        ]
        let hasher = SHA256Hasher()
        for (text, hash) in known + known.reversed() {
            #expect(hasher.hash(Array(text.utf8), first: 8) == hash)
        }
        for count in 0...200 {
            let text = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
            #expect(hasher.hash(text, first: 32) == SHA256.hash(text))
        }
    }
}
