import Wire

/// A digest of the heads of a user's conversations, a few bytes for about every two of them:
/// compared with the present heads it shows which conversations have news. It travels in tokens
/// through clients, so that the server needs neither clock nor memory for it.
///
/// Conversations are hashed by id into buckets, and a bucket holds 40 bits of the sum of its
/// conversations' states. An equal bucket has no news, with an error of one in a trillion; in a
/// different one, all conversations count as news.
package struct ListDigest: Sendable, Hashable {
    /// The most buckets in a token: 14 KiB.
    private static let bucketLimit = 2048
    private static let bytesPerBucket = 5

    /// How many conversations are in it.
    package private(set) var count = 0
    private var buckets: [UInt64]

    /// - Parameter count: the expected number of conversations.
    package init(for count: Int) {
        var buckets = 4
        while buckets < min(Self.bucketLimit, count / 2) { buckets *= 2 }
        self.buckets = Array(repeating: 0, count: buckets)
    }

    /// An empty one with the same buckets.
    package init(like other: ListDigest) {
        buckets = Array(repeating: 0, count: other.buckets.count)
    }

    /// Adds a conversation as its reader sees it: its head, and the read marker.
    package mutating func add(_ conversation: String, _ head: Head, lastRead: Int) {
        var hash = Self.hash(conversation)
        for part in [head.epoch, String(head.rev), head.mark, String(lastRead)] {
            hash.append(part)
        }
        let bucket = bucket(of: conversation)
        buckets[bucket] = (buckets[bucket] &+ hash.mixed) & Self.mask
        count += 1
    }

    /// Whether the conversation may have changed from `other`, which must have as many buckets.
    package func differs(from other: ListDigest, at conversation: String) -> Bool {
        let bucket = bucket(of: conversation)
        return buckets[bucket] != other.buckets[bucket]
    }

    private static let mask: UInt64 = 1 << (8 * bytesPerBucket) - 1

    private func bucket(of conversation: String) -> Int {
        Int(Self.hash(conversation).mixed >> 40) & (buckets.count - 1)
    }

    private static func hash(_ conversation: String) -> Hash {
        var hash = Hash()
        hash.append(conversation)
        return hash
    }

    /// FNV-1a: no protection against chosen input is needed, since marks are random and the
    /// server's.
    private struct Hash {
        private var state: UInt64 = 14_695_981_039_346_656_037

        mutating func append(_ text: String) {
            for byte in text.utf8 { append(byte) }
            append(0)
        }

        private mutating func append(_ byte: UInt8) {
            state = (state ^ UInt64(byte)) &* 1_099_511_628_211
        }

        /// Each bit depends on each byte.
        var mixed: UInt64 {
            var mixed = (state ^ state >> 33) &* 0xFF51_AFD7_ED55_8CCD
            mixed = (mixed ^ mixed >> 33) &* 0xC4CE_B9FE_1A85_EC53
            return mixed ^ mixed >> 33
        }
    }

    // MARK: as text

    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    /// 40 bits are seven digits of six.
    private static let digitsPerBucket = 7

    /// The form in tokens.
    package var text: String {
        var text: [UInt8] = []
        text.reserveCapacity(buckets.count * Self.digitsPerBucket)
        for bucket in buckets {
            for at in 0..<Self.digitsPerBucket {
                text.append(Self.digits[Int(bucket >> UInt64(6 * at) & 63)])
            }
        }
        return String(count, radix: 36) + "." + String(decoding: text, as: UTF8.self)
    }

    /// Parses `text`; nil if it is not of this form.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int(parts[0], radix: 36), count >= 0 else { return nil }
        let bytes = Array(parts[1].utf8)
        let size = bytes.count / Self.digitsPerBucket
        guard bytes.count % Self.digitsPerBucket == 0, (4...Self.bucketLimit).contains(size),
            size & (size - 1) == 0
        else { return nil }
        buckets = []
        buckets.reserveCapacity(size)
        for start in stride(from: 0, to: bytes.count, by: Self.digitsPerBucket) {
            var bucket: UInt64 = 0
            for at in 0..<Self.digitsPerBucket {
                guard let digit = Self.value(of: bytes[start + at]) else { return nil }
                bucket |= UInt64(digit) << UInt64(6 * at)
            }
            guard bucket <= Self.mask else { return nil }
            buckets.append(bucket)
        }
        self.count = count
        guard parts[0] == String(count, radix: 36) else { return nil }
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
/// which the user knows the list, with its mark, and the digest of the conversations' heads.
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
        [place.map { String($0, radix: 36) } ?? "-", mark, digest.text].joined(separator: ".")
    }

    /// Parses `text`.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let digest = ListDigest(parts[2]) else { return nil }
        self.init(place: Int(parts[0], radix: 36), mark: String(parts[1]), digest: digest)
        guard place ?? 0 >= 0, place ?? 0 < 1 << 53, self.text == text else { return nil }
    }
}
