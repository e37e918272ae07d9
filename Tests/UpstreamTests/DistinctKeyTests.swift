import Crypto
import TestSupport
import Testing

@testable import Upstream

/// The key under which files and servers hold a distinct conversation never changes.
@Suite struct DistinctKeyTests {
    /// As it was defined first: the users sorted byte by byte, a line each.
    private func first(_ users: [String]) -> [UInt8] {
        let lines = users.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        return Array<UInt8>(SHA256.hash(Array<UInt8>(lines.joined(separator: [0x0A]))).prefix(16))
    }

    @Test(arguments: 1...50) func itIsTheHashOfTheUsersInByteOrder(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        // Some look alike, and Swift orders some otherwise than their bytes.
        let odd = ["é", "e\u{301}", "\u{212B}", "\u{FF5E}", "\u{1F600}", "\u{1E9B}\u{323}", "Å"]
        let isASCII = seed % 2 == 0
        let users = (0..<Int.random(in: 1...40, using: &random)).map { number in
            let name = "user-\(Int.random(in: 0...9999, using: &random))-\(number)"
            return isASCII ? name : (odd.randomElement(using: &random) ?? "") + name
        }
        #expect(users.distinctKey == first(users))
        #expect(users.shuffled(using: &random).distinctKey == first(users))
    }

    @Test func whatLooksAlikeIsTwoUsers() {
        #expect(["é"].distinctKey != ["e\u{301}"].distinctKey)
    }
}
