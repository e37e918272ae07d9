/// The passwords of a file, one per line. A candidate is compared with all of them, and the time
/// this takes reveals nothing about them. A value, made at start and at each reload.
package struct Passwords: Sendable {
    /// More than any rotation needs; bounds the cost of a refusal.
    package static let most = 64

    /// HMACs under a random secret of this process, all of one length.
    private let codes: [[UInt8]]
    private let secret = MessageCode.randomBytes(MessageCode.length)

    /// - Throws: `CryptoError`, if the file has no password, or too many.
    package init(file: [UInt8]) throws(CryptoError) {
        let secret = secret
        codes = file.split(separator: UInt8(ascii: "\n"))
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
            .filter { !$0.isEmpty }.map { MessageCode.of($0, key: secret) }
        guard (1...Self.most).contains(codes.count) else {
            throw CryptoError("\(codes.count) passwords, one a line (1 to \(Self.most))")
        }
    }

    /// Whether `candidate` is one of the passwords.
    package func contains(_ candidate: some Sequence<UInt8>) -> Bool {
        let code = MessageCode.of(candidate, key: secret)
        var found = false
        // Compares every one, even after a match.
        for other in codes where MessageCode.equal(code, other) { found = true }
        return found
    }
}
