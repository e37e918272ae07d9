import CCrypto

/// SHA-256 of libcrypto.
package enum SHA256 {
    /// The address of libcrypto's method, which is never freed and may be used on every thread.
    /// Without it libcrypto would look the method up by name for each hash, which takes longer than
    /// hashing a message.
    private static let method = UInt(bitPattern: EVP_MD_fetch(nil, "SHA256", nil))

    /// The 32 bytes of the hash of `bytes`.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
            let isDone = EVP_Digest(
                bytes, bytes.count, digest.baseAddress, nil, OpaquePointer(bitPattern: method), nil)
            precondition(isDone == 1, "libcrypto has SHA-256, and memory for a digest")
            count = Int(SHA256_DIGEST_LENGTH)
        }
    }
}

/// Unpredictable bytes from the kernel.
package enum Random {
    /// `count` random bytes.
    package static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// `count` random bytes as twice as many hexadecimal digits.
    package static func hex(_ count: Int) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes(count).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}
