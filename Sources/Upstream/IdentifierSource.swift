import Chat
import Glibc

/// Makes ids for messages and conversations that come without one, in the form of a ULID: 26
/// characters of Crockford's base 32, 48 bits of time and 80 random ones. Ids of one source rise,
/// within a millisecond too, so they sort in the order in which they were made. A value, which its
/// owner keeps on one thread: a copy goes on with the same ids, as long as the random numbers last
/// that both have.
struct IdentifierSource {
    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    private var milliseconds: UInt64 = 0
    private var high: UInt16 = 0
    private var low: UInt64 = 0
    private var random = RandomBlock()

    /// A new id, higher than all before it.
    mutating func next(at moment: Timestamp) -> String {
        let now = UInt64(max(0, moment.milliseconds)) & 0xFFFF_FFFF_FFFF
        if now > milliseconds {
            milliseconds = now
            // The upper half of the range stays free, so that counting up within a millisecond
            // can't overflow.
            high = UInt16.random(in: 0...UInt16(Int16.max), using: &random)
            low = random.next()
        } else {
            let step = UInt64.random(in: 1...0xFFFF_FFFF, using: &random)
            let (sum, isCarried) = low.addingReportingOverflow(step)
            low = sum
            if isCarried { high &+= 1 }
        }
        return text
    }

    /// 130 bits in groups of five; the top two are zero.
    private var text: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(26)
        for shift in stride(from: 45, through: 0, by: -5) {
            bytes.append(Self.digits[Int(milliseconds >> UInt64(shift)) & 31])
        }
        var random = UInt128(high) << 64 | UInt128(low)
        var tail: [UInt8] = []
        for _ in 0..<16 {
            tail.append(Self.digits[Int(truncatingIfNeeded: random & 31)])
            random >>= 5
        }
        bytes.append(contentsOf: tail.reversed())
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Random numbers from the kernel, 32 words a call; no word is used twice.
private struct RandomBlock: RandomNumberGenerator {
    private var words = [UInt64](repeating: 0, count: 32)
    private var left = 0

    mutating func next() -> UInt64 {
        if left == 0 { refill() }
        left -= 1
        return words[left]
    }

    private mutating func refill() {
        left = words.count
        guard getentropy(&words, words.count * MemoryLayout<UInt64>.size) != 0 else { return }
        var one = SystemRandomNumberGenerator()
        for place in words.indices { words[place] = one.next() }
    }
}
