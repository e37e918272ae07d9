import CCrypto

/// The only owner of an `EVP_PKEY`, which it frees; the algorithm is derived once, from the key
/// itself. Not copyable; code that shares one puts a lock around it (`PublicKey`). Only this file,
/// `PublicKey` and `PrivateKey` see the pointer.
struct KeyHandle: ~Copyable {
    let pointer: OpaquePointer
    let algorithm: SignatureAlgorithm

    /// RSA below this is refused (RFC 7518, 3.3).
    static let leastRSABits: Int32 = 2048
    /// A larger RSA key would make each stranger's token expensive to refuse.
    static let mostRSABits: Int32 = 8192

    /// Takes ownership of the key.
    /// - Throws: `CryptoError` if the key fits no supported algorithm; then the key is freed.
    init(owning pointer: OpaquePointer) throws(CryptoError) {
        do throws(CryptoError) {
            algorithm = try Self.algorithm(of: pointer)
        } catch {
            EVP_PKEY_free(pointer)
            throw error
        }
        self.pointer = pointer
    }

    deinit { EVP_PKEY_free(pointer) }

    /// A public key made by libcrypto, with its numbers checked: a point must lie on its curve.
    /// - Throws: `CryptoError` if libcrypto does not accept it as a public key.
    init(making make: () -> OpaquePointer?) throws(CryptoError) {
        defer { ERR_clear_error() }
        guard let key = make() else { throw CryptoError("its numbers are no public key") }
        guard Self.isSound(key) else {
            EVP_PKEY_free(key)
            throw CryptoError("its numbers are no public key")
        }
        try self.init(owning: key)
    }

    private static func isSound(_ key: OpaquePointer) -> Bool {
        guard let check = EVP_PKEY_CTX_new(key, nil) else { return false }
        defer { EVP_PKEY_CTX_free(check) }
        return EVP_PKEY_public_check(check) == 1
    }

    private static func algorithm(
        of key: OpaquePointer
    ) throws(CryptoError) -> SignatureAlgorithm {
        switch EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA:
            let bits = EVP_PKEY_get_bits(key)
            guard (leastRSABits...mostRSABits).contains(bits) else {
                throw CryptoError("an RSA key of \(bits) bits (\(leastRSABits) to \(mostRSABits))")
            }
            return .rs256
        case EVP_PKEY_EC:
            var name = [CChar](repeating: 0, count: 64)
            var length = 0
            guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1,
                name.prefix(length).elementsEqual("prime256v1".utf8.map { CChar($0) })
            else { throw CryptoError("an elliptic curve other than P-256") }
            return .es256
        case EVP_PKEY_ED25519:
            return .edDSA
        default:
            throw CryptoError("a key of another type (RSA, EC P-256, Ed25519)")
        }
    }

    /// Reads one PEM block.
    /// - Throws: `CryptoError` if `read` fails, or if the key needs a passphrase.
    init(
        pem: [UInt8], expected: String, read: (OpaquePointer) -> OpaquePointer?
    ) throws(CryptoError) {
        defer { ERR_clear_error() }
        // The array stays pinned while it is read: the reader does not outlive the closure.
        let key = pem.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let base = bytes.baseAddress,
                let reader = BIO_new_mem_buf(base, Int32(clamping: bytes.count))
            else { return nil }
            defer { BIO_free(reader) }
            return read(reader)
        }
        guard let key else { throw CryptoError("no readable PEM block (\(expected))") }
        try self.init(owning: key)
    }
}

/// Refuses a passphrase; otherwise libcrypto would ask for one on the terminal.
func declinePassphrase(
    _: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32, _: UnsafeMutableRawPointer?
) -> Int32 { -1 }
