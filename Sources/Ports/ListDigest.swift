import Wire

/// A digest of the heads of a user's conversations, a few bytes for each: compared with the present
/// heads it shows which conversations have news. It travels in tokens through clients, so that the
/// server needs neither clock nor memory for it.
///
/// Conversations are hashed by id into buckets, and a bucket holds 40 bits of the sum of its
/// conversations' states. An equal bucket has no news, with an error of one in a trillion; in a
/// different one, all conversations count as news. A short list has so many buckets that hardly two
/// conversations share one, and only the used ones are kept; a long list has one for about every
/// two conversations.
package struct ListDigest: Sendable, Hashable {
    /// The most buckets of a long list in a token: 14 KiB.
    private static let bucketLimit = 2048
    private static let bytesPerBucket = 5
    /// The most conversations of a short list. Each takes 11 digits of the token: 1.4 KiB at most.
    package static let shortLimit = 128
    /// The number of buckets of a short list.
    private static let sparseBuckets = 1 << 24

    private enum Buckets: Sendable, Hashable {
        case dense([UInt64])
        /// The used buckets, by their numbers.
        case sparse([Int: UInt64])
    }

    /// The number of conversations in it.
    package private(set) var count = 0
    private var buckets: Buckets

    /// - Parameter count: the number of conversations that it is for.
    package init(for count: Int) {
        guard count > Self.shortLimit else {
            buckets = .sparse([:])
            return
        }
        var size = 4
        while size < min(Self.bucketLimit, count / 2) { size *= 2 }
        buckets = .dense(Array(repeating: 0, count: size))
    }

    /// An empty one with the same buckets.
    package init(like other: ListDigest) {
        switch other.buckets {
        case .dense(let sums): buckets = .dense(Array(repeating: 0, count: sums.count))
        case .sparse: buckets = .sparse([:])
        }
    }

    /// Adds a conversation as its reader sees it: the head of its log, and the read marker.
    package mutating func add(_ conversation: String, _ head: Head, lastRead: Int) {
        var hash = Self.hash(conversation)
        for part in [head.epoch, String(head.rev), head.mark, String(lastRead)] {
            hash.append(part)
        }
        let bucket = bucket(of: conversation)
        let sum = ((self[bucket] ?? 0) &+ hash.mixed) & Self.mask
        switch buckets {
        case .dense(var sums):
            // Let go of, so that it is not copied.
            buckets = .dense([])
            sums[bucket] = sum
            buckets = .dense(sums)
        case .sparse(var sums):
            buckets = .sparse([:])
            sums[bucket] = sum
            buckets = .sparse(sums)
        }
        count += 1
    }

    /// Whether the conversation may stand elsewhere in `other`, which has the same buckets.
    package func differs(from other: ListDigest, at conversation: String) -> Bool {
        let bucket = bucket(of: conversation)
        return self[bucket] != other[bucket]
    }

    /// Whether each of its conversations may be among those of the present digest, or have left.
    /// - Parameter now: has the same buckets.
    package func isExplained(by now: ListDigest, _ left: [String]) -> Bool {
        guard now.count + left.count >= count else { return false }
        guard case .sparse(let sums) = buckets, case .sparse(let present) = now.buckets else {
            return true
        }
        let gone = Set(left.map { bucket(of: $0) })
        return sums.keys.allSatisfy { present[$0] != nil || gone.contains($0) }
    }

    /// A bucket; nil if no conversation of a short list is in it.
    private subscript(bucket: Int) -> UInt64? {
        switch buckets {
        case .dense(let sums): sums[bucket]
        case .sparse(let sums): sums[bucket]
        }
    }

    private static let mask: UInt64 = 1 << (8 * bytesPerBucket) - 1

    private func bucket(of conversation: String) -> Int {
        let size =
            switch buckets {
            case .dense(let sums): sums.count
            case .sparse: Self.sparseBuckets
            }
        return Int(Self.hash(conversation).mixed >> 40) & (size - 1)
    }

    private static func hash(_ conversation: String) -> Hash {
        var hash = Hash()
        hash.append(conversation)
        return hash
    }

    /// No protection against chosen input is needed, since marks are random and the server's.
    private struct Hash {
        private var state = EmptyCollection<UInt8>().fnv1a()

        mutating func append(_ text: String) {
            state = CollectionOfOne(0).fnv1a(after: text.utf8.fnv1a(after: state))
        }

        var mixed: UInt64 { state.mixed }
    }

    // MARK: as text

    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    /// A bucket of 40 bits takes seven digits of six, the number of one of 2^24 buckets four.
    private static let digitsPerBucket = 7
    private static let digitsPerNumber = 4
    /// Stands before the buckets of a short list; none of the digits.
    private static let sparseSign = UInt8(ascii: "~")

    /// The text that tokens contain.
    package var text: String {
        var text: [UInt8] = []
        switch buckets {
        case .dense(let sums):
            text.reserveCapacity(sums.count * Self.digitsPerBucket)
            for sum in sums { Self.write(sum, Self.digitsPerBucket, to: &text) }
        case .sparse(let sums):
            text.append(Self.sparseSign)
            for (number, sum) in sums.sorted(by: { $0.key < $1.key }) {
                Self.write(UInt64(number), Self.digitsPerNumber, to: &text)
                Self.write(sum, Self.digitsPerBucket, to: &text)
            }
        }
        return String(count, radix: 36) + "." + String(decoding: text, as: UTF8.self)
    }

    private static func write(_ value: UInt64, _ count: Int, to text: inout [UInt8]) {
        for at in 0..<count { text.append(digits[Int(value >> UInt64(6 * at) & 63)]) }
    }

    /// Parses `text`; nil if this type did not write it.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int(parts[0], radix: 36), count >= 0,
            parts[0] == String(count, radix: 36)
        else { return nil }
        let bytes = Array(parts[1].utf8)
        if bytes.first == Self.sparseSign {
            guard let sums = Self.sparse(bytes[1...]), sums.count <= count else { return nil }
            buckets = .sparse(sums)
        } else {
            guard let sums = Self.dense(bytes[...]) else { return nil }
            buckets = .dense(sums)
        }
        self.count = count
    }

    private static func dense(_ bytes: ArraySlice<UInt8>) -> [UInt64]? {
        let size = bytes.count / digitsPerBucket
        guard bytes.count % digitsPerBucket == 0, (4...bucketLimit).contains(size),
            size & (size - 1) == 0
        else { return nil }
        var sums: [UInt64] = []
        sums.reserveCapacity(size)
        for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: digitsPerBucket) {
            guard let sum = read(bytes[start..<start + digitsPerBucket]), sum <= mask else {
                return nil
            }
            sums.append(sum)
        }
        return sums
    }

    private static func sparse(_ bytes: ArraySlice<UInt8>) -> [Int: UInt64]? {
        let size = digitsPerNumber + digitsPerBucket
        guard bytes.count % size == 0, bytes.count / size <= shortLimit else { return nil }
        var sums: [Int: UInt64] = [:]
        var last = -1
        for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: size) {
            let middle = start + digitsPerNumber
            guard let number = read(bytes[start..<middle]).map({ Int($0) }), number > last,
                let sum = read(bytes[middle..<start + size]), sum <= mask
            else { return nil }
            sums[number] = sum
            last = number
        }
        return sums
    }

    private static func read(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for (at, digit) in digits.enumerated() {
            guard let digit = self.value(of: digit) else { return nil }
            value |= UInt64(digit) << UInt64(6 * at)
        }
        return value
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

/// A position in the log of departures from a list.
package struct ListPlace: Sendable, Hashable {
    /// The newest known departure.
    package var seq: Int
    /// The log's own mark there, in hexadecimal.
    package var mark: String

    package init(seq: Int, mark: String) {
        self.seq = seq
        self.mark = mark
    }
}

/// The contents of a list token of an origin elsewhere: the position in the log of departures up to
/// which the user knows the list, with its mark, and the digest of the conversations' heads. Tokens
/// of an earlier form stand for less: they prove nothing of joins, and are not read.
package struct ListPlaceToken: Sendable, Hashable {
    /// The newest known departure; nil if the origin could not keep a log.
    package var place: Int?
    /// The log's own mark there, in hexadecimal.
    package var mark: String
    package var digest: ListDigest

    package init(place: Int?, mark: String, digest: ListDigest) {
        self.place = place
        self.mark = mark
        self.digest = digest
    }

    /// The form that clients get.
    package var text: String {
        let place = place.map { String($0, radix: 36) } ?? "-"
        return [Self.form, place, mark, digest.text].joined(separator: ".")
    }

    private static let form = "2"

    /// Parses `text`.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let digest = ListDigest(parts[3]) else { return nil }
        self.init(place: Int(parts[1], radix: 36), mark: String(parts[2]), digest: digest)
        guard place ?? 0 >= 0, place ?? 0 < 1 << 53, self.text == text else { return nil }
    }
}
