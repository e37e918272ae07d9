import Crypto
import Testing
import TestSupport

@Suite struct Base64URLTests {
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"),
        ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"),
    ])
    func theVectorsOfTheStandardHold(_ plain: String, _ text: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == Array(text.utf8))
        #expect(Base64URL.decode(Array(text.utf8)) == Array(plain.utf8))
    }

    @Test func theLastTwoOfTheAlphabetAreThoseOfURLs() {
        #expect(Base64URL.encode([0xFB, 0xFF]) == Array("-_8".utf8))
    }

    @Test(arguments: ["A", "Zg==", "Zm8=", "Zm9v\n", " Zm9v", "Zm+v", "Zm/v", "Zh", "Zm9", "Zm\0v"])
    func aSecondWritingIsRefused(_ text: String) {
        #expect(Base64URL.decode(Array(text.utf8)) == nil)
    }

    @Test func whatIsWrittenIsReadBack() {
        let seed: UInt64 = 11
        var generator = SplitMix64(seed: seed)
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes, "seed \(seed)")
        }
    }
}
