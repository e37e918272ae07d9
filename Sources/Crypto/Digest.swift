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

/// Unpredictable bytes of libcrypto's generator, which the kernel seeds. Each thread has its own:
/// a small number needs neither a lock nor a system call.
package enum Random {
    private static let digits = Array("0123456789abcdef".utf8)

    /// `count` random bytes.
    package static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
            filled = count
            guard count > 0, RAND_bytes(bytes.baseAddress, Int32(count)) != 1 else { return }
            // It could not be seeded: the kernel is asked for each one.
            for at in 0..<count {
                bytes.initializeElement(at: at, to: .random(in: .min ... .max))
            }
        }
    }

    /// `count` random bytes as twice as many hexadecimal digits.
    package static func hex(_ count: Int) -> String {
        let bytes = bytes(count)
        return String(unsafeUninitializedCapacity: 2 * count) { text in
            for (at, byte) in bytes.enumerated() {
                text.initializeElement(at: 2 * at, to: digits[Int(byte >> 4)])
                text.initializeElement(at: 2 * at + 1, to: digits[Int(byte & 15)])
            }
            return 2 * count
        }
    }
}
