import CCrypto

/// SHA-256 of libcrypto.
package enum SHA256 {
    /// The address of libcrypto's method, which is never freed and may be used on every thread.
    /// Without it libcrypto would look the method up by name for each hash, which takes longer than
    /// hashing a message.
    fileprivate static let method = UInt(bitPattern: EVP_MD_fetch(nil, "SHA256", nil))

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

/// Hashes one text after another with SHA-256, and keeps libcrypto's state for the next: `SHA256`
/// has it made and freed for each. Used by one thread at a time.
package struct SHA256Hasher: ~Copyable {
    private let context: OpaquePointer

    package init() {
        guard let made = EVP_MD_CTX_new() else { preconditionFailure("no memory for a digest") }
        context = made
    }

    deinit { EVP_MD_CTX_free(context) }

    /// The first `count` of the 32 bytes of the hash of `bytes`.
    package func hash(_ bytes: [UInt8], first count: Int) -> [UInt8] {
        precondition((0...Int(SHA256_DIGEST_LENGTH)).contains(count), "a hash has 32 bytes")
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(SHA256_DIGEST_LENGTH)) {
            let isDone =
                EVP_DigestInit_ex(context, OpaquePointer(bitPattern: SHA256.method), nil) == 1
                && EVP_DigestUpdate(context, bytes, bytes.count) == 1
                && EVP_DigestFinal_ex(context, $0.baseAddress, nil) == 1
            precondition(isDone, "libcrypto has SHA-256, and memory for a digest")
            return Array($0[..<count])
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
