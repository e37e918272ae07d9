import Crypto
import Testing

@Suite struct RandomTests {
    @Test func bytesAreAsManyAsAskedForAndNeverTheSame() {
        #expect(Random.bytes(0) == [])
        for count in [1, 8, 100_000] { #expect(Random.bytes(count).count == count) }
        let drawn = (0..<10_000).map { _ in Random.bytes(8) }
        #expect(Set(drawn).count == drawn.count)
        // Each value of a byte comes some 312 times.
        var counts = [Int](repeating: 0, count: 256)
        for byte in drawn.joined() { counts[Int(byte)] += 1 }
        #expect(counts.allSatisfy { $0 > 200 && $0 < 450 })
    }

    @Test func digitsAreTwiceAsManyAndHexadecimal() {
        for count in [0, 1, 8, 33] {
            let text = Random.hex(count)
            #expect(text.utf8.count == 2 * count)
            #expect(text.allSatisfy { $0.isHexDigit && !$0.isUppercase })
        }
        #expect(Set((0..<1000).flatMap { _ in Random.hex(8) }).count == 16)
    }
}
