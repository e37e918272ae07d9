import Testing
import Wire

/// Ids as keys: by their bytes, whatever they look like.
@Suite struct IDTests {
    /// The same word to the eye, and to Swift's strings: each letter in one scalar or in two.
    private let alike = (0..<256).map { number in
        (0..<8).map { number >> $0 & 1 == 0 ? "é" : "e\u{301}" }.joined().id
    }

    @Test func whatLooksAlikeIsManyKeys() {
        #expect(Set(alike.map(\.text)).count == 1)
        #expect(Set(alike).count == 256)
    }

    /// Otherwise a list of such ids would be compared each with each.
    @Test func whatLooksAlikeHasManyHashes() {
        #expect(Set(alike.map(\.hashValue)).count > 250)
    }

    @Test(arguments: ["", "a", "12345678", "123456789", "Ünïcode-🙂"])
    func equalIdsHaveOneHash(text: String) {
        #expect(String(decoding: Array(text.utf8), as: UTF8.self).id == text.id)
        #expect(String(decoding: Array(text.utf8), as: UTF8.self).id.hashValue == text.id.hashValue)
    }
}
