/// The keys of the server API; several may be valid at once, so that they can be rotated. A
/// candidate is compared with all of them, and the time this takes reveals neither which one
/// matched, nor how many bytes did, nor the lengths of the keys. A value, made at start and at each
/// reload.
package struct APIKeys: Sendable {
    /// The length in bytes below which a key can be guessed: 64 bits in hexadecimal, 96 in base64.
    package static let soundKey = 16
    /// More than any rotation needs; bounds the cost of a refusal.
    package static let mostKeys = 64

    /// HMACs of the keys under a random secret of this process: they have equal lengths, so even a
    /// comparison that stopped early would reveal nothing about the keys.
    private let codes: [[UInt8]]
    private let secret: [UInt8]

    /// The number of keys.
    package var count: Int { codes.count }

    /// The keys in a file: one per line, without empty lines and the white space around keys.
    ///
    /// - Throws: `CryptoError` with the line number, if a key is too short or has characters that a
    ///   header can't carry; also if there is no key, or too many.
    package init(file: [UInt8]) throws(CryptoError) {
        let secret = MessageCode.randomBytes(MessageCode.length)
        var codes: [[UInt8]] = []
        let lines = file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (at, line) in lines.enumerated() {
            let key = Self.trimmed(line)
            if key.isEmpty { continue }
            guard key.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw CryptoError(
                    "line \(at + 1): a key with spaces or other characters (printable ASCII)")
            }
            guard key.count >= Self.soundKey else {
                throw CryptoError(
                    "line \(at + 1): a key of \(key.count) bytes (at least \(Self.soundKey))")
            }
            codes.append(MessageCode.of(key, key: secret))
        }
        guard !codes.isEmpty else { throw CryptoError("no key in it (one key a line)") }
        guard codes.count <= Self.mostKeys else {
            throw CryptoError("\(codes.count) keys (at most \(Self.mostKeys))")
        }
        self.codes = codes
        self.secret = secret
    }

    /// Whether `candidate` is one of the keys.
    package func contains(_ candidate: some Sequence<UInt8>) -> Bool {
        let code = MessageCode.of(candidate, key: secret)
        var found = false
        // Compares every key, even after a match.
        for other in codes where MessageCode.equal(code, other) { found = true }
        return found
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let blank: Set<UInt8> = [0x20, 0x09, 0x0D]
        var line = line
        while let first = line.first, blank.contains(first) { line.removeFirst() }
        while let last = line.last, blank.contains(last) { line.removeLast() }
        return line
    }
}
