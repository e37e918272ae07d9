import Ports
import TestSupport
import Testing
import Wire

/// What a token says of where conversations stood: nothing that moved is missed.
@Suite struct ListDigestTests {
    private struct Entry {
        var id: String
        var head: Head
        var lastRead: Int
    }

    private static func entries(_ count: Int, _ random: inout SplitMix64) -> [Entry] {
        (0..<count).map { number in
            let mark = String(random.next(), radix: 16)
            let head = Head(epoch: "e", seq: 3, rev: 1 + number % 5, mark: mark, floor: 1)
            return Entry(id: "c\(number)", head: head, lastRead: number % 3)
        }
    }

    private static func digest(_ entries: [Entry], like other: ListDigest? = nil) -> ListDigest {
        var digest = other.map { ListDigest(like: $0) } ?? ListDigest(for: entries.count)
        for entry in entries { digest.add(entry.id, entry.head, lastRead: entry.lastRead) }
        return digest
    }

    @Test(arguments: [0, 1, 7, 100, 128, 129, 500, 10_000])
    func whatMovedIsFoundAndLittleElse(count: Int) throws {
        var random = SplitMix64(seed: UInt64(count))
        var entries = Self.entries(count, &random)
        let token = ListPlaceToken(
            place: 5, mark: "00ff00ff00ff00ff", digest: Self.digest(entries))
        let read = try #require(ListPlaceToken(token.text))
        #expect(read == token && token.text.utf8.count <= 64 + 14 * max(4, min(count, 1100)))
        var moved: Set<String> = []
        for at in entries.indices.shuffled(using: &random).prefix(max(1, count / 100)) {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: entries[at].head.rev += 1
            case 1: entries[at].head.mark = String(random.next(), radix: 16)
            case 2: entries[at].head.epoch = "f"
            default: entries[at].lastRead += 1
            }
            moved.insert(entries[at].id)
        }
        let joined = Entry(
            id: "joined", head: Head(epoch: "e", seq: 0, rev: 1, mark: "m", floor: 1), lastRead: 0)
        entries.append(joined)
        moved.insert(joined.id)
        let now = Self.digest(entries, like: read.digest)
        let news = entries.filter { now.differs(from: read.digest, at: $0.id) }.map(\.id)
        #expect(moved.subtracting(news).isEmpty)
        // Those that share a bucket with them; in a short list there are none.
        let isShort = count <= ListDigest.shortLimit
        #expect(news.count <= (isShort ? moved.count : 8 + 12 * moved.count))
        #expect(read.digest.count == count && now.count == count + 1)
    }

    /// Most people have some ten conversations.
    @Test func ofAShortListNothingButTheNewsIsFound() throws {
        for seed in 0..<200 {
            var random = SplitMix64(seed: UInt64(seed))
            let entries = Self.entries(12, &random)
            let token = try #require(ListDigest(Self.digest(entries).text))
            for at in entries.indices {
                var later = entries
                later[at].head.rev += 1
                let now = Self.digest(later, like: token)
                #expect(later.indices.filter { now.differs(from: token, at: later[$0].id) } == [at])
            }
        }
    }

    /// Short lists had few buckets once, and clients hold such tokens.
    @Test func aTokenWithFewBucketsIsCompared() throws {
        let old = try #require(ListDigest("1.AAAAAAAAAAAAAAAAAAAAAAAAAAAA"))
        var now = ListDigest(like: old)
        now.add("c", Head(epoch: "e", seq: 1, rev: 1, mark: "m", floor: 1), lastRead: 0)
        #expect(now.differs(from: old, at: "c"))
    }

    /// Clients hold tokens of the versions before, which are to be compared with those of this one.
    @Test func aTokenIsTheSameInEveryVersion() {
        let entries = [
            Entry(id: "c1", head: Head(epoch: "e", seq: 9, rev: 7, mark: "0a1b"), lastRead: 3),
            Entry(id: "c2", head: Head(epoch: "e", seq: 1, rev: 1, mark: "ff"), lastRead: 0),
        ]
        #expect(Self.digest(entries).text == "2.~hysYFH5eMZCexHqCK89gnM")
    }

    /// The vectors of its authors.
    @Test func theHashIsFNV1a() {
        #expect("".utf8.fnv1a() == 0xCBF2_9CE4_8422_2325)
        #expect("a".utf8.fnv1a() == 0xAF63_DC4C_8601_EC8C)
        #expect("foobar".utf8.fnv1a() == 0x8594_4171_F739_67E8)
        #expect("bar".utf8.fnv1a(after: "foo".utf8.fnv1a()) == "foobar".utf8.fnv1a())
    }

    /// A conversation of a short list that is neither there nor among those that left.
    @Test func whatIsMissingFromAShortListIsFound() {
        var random = SplitMix64(seed: 4)
        let entries = Self.entries(20, &random)
        let token = Self.digest(entries)
        var others = Array(entries.dropFirst())
        others.append(
            Entry(
                id: "joined", head: Head(epoch: "e", seq: 0, rev: 1, mark: "m", floor: 1),
                lastRead: 0))
        let now = Self.digest(others, like: token)
        #expect(!token.isExplained(by: now, []) && !token.isExplained(by: now, ["joined"]))
        #expect(token.isExplained(by: now, [entries[0].id]))
        #expect(token.isExplained(by: Self.digest(entries, like: token), []))
    }

    /// Tokens of an earlier form prove nothing of joins.
    @Test func aTokenOfAnEarlierFormIsNone() {
        var random = SplitMix64(seed: 5)
        let token = ListPlaceToken(
            place: 5, mark: "00ff00ff00ff00ff", digest: Self.digest(Self.entries(3, &random)))
        #expect(ListPlaceToken(token.text) == token)
        #expect(ListPlaceToken(String(token.text.dropFirst(2))) == nil)
    }

    @Test func anOrderIsNone() {
        var random = SplitMix64(seed: 9)
        let entries = Self.entries(50, &random)
        #expect(Self.digest(entries) == Self.digest(entries.shuffled(using: &random)))
    }

    @Test(arguments: [
        "", "1", "2", "2.5.00ff", "2.5.00ff.", "2.5.00ff.1", "2.5.00ff.1.AAA",
        "2.5.00ff.01.AAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "2.-1.00ff.1.AAAAAAAAAAAAAAAAAAAAAAAAAAAA", "2.5.00ff.1.AAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "2.5.00ff.1.______AAAAAAAAAAAAAAAAAAAAAAAA",
        "2.5.00ff.1.~AAAA", "2.5.00ff.2.~AAAAAAAAAAAAAAAAAAAAAA", "2.5.00ff.0.~AAAAAAAAAAA",
        "2.5.00ff.1.~AAAA_______", "2.5.00ff.1.~AAAAAAAAAA=", "2.5.00ff.1.AAAAAAAAAAAAAAAAAAAAA",
    ])
    func anythingElseIsNoToken(text: String) {
        #expect(ListPlaceToken(text) == nil)
    }
}
