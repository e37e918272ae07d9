import Crypto
import Testing

@Suite struct APIKeysTests {
    private let first = "0123456789abcdef"
    private let second = "fedcba9876543210fedcba"

    @Test func eachKeyOfTheFileIsOne() throws {
        let keys = try APIKeys(file: Array("\n  \(first)\t\r\n\n\(second)".utf8))
        #expect(keys.count == 2)
        #expect(keys.contains(first.utf8))
        #expect(keys.contains(second.utf8))
    }

    @Test(arguments: ["", "0", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF"])
    func nothingElseIs(_ candidate: String) throws {
        let keys = try APIKeys(file: Array("\(first)\n\(second)\n".utf8))
        #expect(!keys.contains(candidate.utf8))
        #expect(!keys.contains((first + "\n" + second).utf8))
    }

    @Test(arguments: [
        ("", "no key in it (one key a line)"), (" \n\t\n", "no key in it (one key a line)"),
        ("two words of some length", "line 1: a key with spaces or other characters"),
        ("schlüssel-schlüssel", "line 1: a key with spaces or other characters"),
        ("0123456789abcdef\nfive5", "line 2: a key of 5 bytes (at least 16)"),
        ("0123456789abcde", "line 1: a key of 15 bytes (at least 16)"),
    ])
    func aBadFileIsNamedByItsLine(_ file: String, _ message: String) {
        let error = #expect(throws: CryptoError.self) { try APIKeys(file: Array(file.utf8)) }
        #expect(error?.description.hasPrefix(message) == true)
    }

    @Test func aFileIsBounded() {
        let many = (0...APIKeys.mostKeys).map { "key-number-\(100_000 + $0)" }
        #expect(throws: CryptoError.self) {
            try APIKeys(file: Array(many.joined(separator: "\n").utf8))
        }
    }

    @Test func bytesAreEqualOnlyIfAllAre() {
        #expect(MessageCode.equal([1, 2, 3], [1, 2, 3]))
        #expect(!MessageCode.equal([1, 2, 3], [1, 2, 4]))
        #expect(!MessageCode.equal([1, 2, 3], [1, 2]))
        #expect(MessageCode.equal([], []))
    }

    @Test func aCodeIsThatOfTheStandard() {
        // RFC 4231, test case 2.
        let code = MessageCode.of("what do ya want for nothing?".utf8, key: Array("Jefe".utf8))
        let hex = code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(hex == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }
}
