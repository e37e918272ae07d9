@testable import Configuration
import Testing
import TestSupport

@Suite struct WordsTests {
    @Test(arguments: [
        ("0", 0), ("65536", 65_536), ("512B", 512), ("64KiB", 65_536), ("1MiB", 1 << 20),
        ("2GiB", 2 << 30), ("007KiB", 7 << 10),
    ])
    func aSizeIsANumberAndAUnit(_ text: String, _ bytes: Int) {
        #expect(Words.size(text) == bytes)
    }

    @Test(arguments: [
        "", "KiB", "1.5MiB", "-1", "+1", "64KB", "64kib", "64 KiB", "64KiBs", "0x10",
        "9999999999GiB", "99999999999999999999", "٣B",
    ])
    func anythingElseIsNoSize(_ text: String) {
        #expect(Words.size(text) == nil)
    }

    @Test(
        arguments: [
            ("0", 0), ("0s", 0), ("250ms", 250), ("30s", 30_000), ("2m", 120_000),
            ("1h", 3_600_000),
            ("7d", 604_800_000), ("1m30s", 90_000), ("1h1ms", 3_600_001),
        ] as [(String, Milliseconds)])
    func aDurationIsPartsFromLargeToSmall(_ text: String, _ milliseconds: Milliseconds) {
        #expect(Words.duration(text) == milliseconds)
    }

    @Test(arguments: [
        "", "30", "s", "1.5s", "-1s", "30s1m", "1s1s", "30S", "30 s", "30sec", "1m30", "1w",
        "999999999999d", "9223372036854775807ms1s", "99999999999999999999s",
    ])
    func anythingElseIsNoDuration(_ text: String) {
        #expect(Words.duration(text) == nil)
    }

    @Test func whatIsWrittenIsReadBack() {
        let seed: UInt64 = 3
        var generator = SplitMix64(seed: seed)
        for _ in 0..<2000 {
            let bits = Int.random(in: 0...40, using: &generator)
            let value = Int.random(in: 0...(1 << bits), using: &generator)
            #expect(Words.size(Words.write(size: value)) == value, "seed \(seed)")
            let duration = Milliseconds(value)
            #expect(Words.duration(Words.write(duration: duration)) == duration, "seed \(seed)")
        }
    }

    @Test(arguments: [
        ("127.0.0.1:8000", true), ("localhost:1", true), ("[::1]:65535", true),
        ("127.9.9.9:0", true), ("0.0.0.0:80", false), ("[::]:80", false),
        ("chat.example.org:443", false), ("127.0.0.1.example.org:80", false),
        ("127.0.0.999:80", false), ("127.1:80", false),
    ])
    func anAddressKnowsWhetherOthersReachIt(_ text: String, _ isLoopback: Bool) throws {
        let address = try #require(Address(text))
        #expect(address.isLoopback == isLoopback)
        #expect(address.description == text)
    }

    @Test(arguments: [
        "", "8000", ":8000", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
        "::1:8000", "[::1]", "[localhost]:80", "a b:80", "host:8000:9000", "http://host:80",
    ])
    func anythingElseIsNoAddress(_ text: String) {
        #expect(Address(text) == nil)
    }
}
