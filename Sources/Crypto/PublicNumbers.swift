import CCrypto

/// Passes the numbers of a public key to libcrypto, which makes the key. Owns the builder and its
/// contents: libcrypto keeps pointers to names and bytes without copying them.
struct PublicNumbers: ~Copyable {
    private let builder: OpaquePointer?
    private var numbers: [OpaquePointer?] = []
    private var copies: [UnsafeMutableBufferPointer<UInt8>] = []
    private var isWhole = true

    init() {
        builder = OSSL_PARAM_BLD_new()
    }

    deinit {
        for number in numbers { BN_free(number) }
        for copy in copies { copy.deallocate() }
        OSSL_PARAM_BLD_free(builder)
    }

    /// A number, most significant byte first.
    mutating func add(_ name: StaticString, number bytes: [UInt8]) {
        let number = BN_bin2bn(bytes, Int32(bytes.count), nil)
        numbers.append(number)
        note(number != nil && OSSL_PARAM_BLD_push_BN(builder, Self.text(name), number) == 1)
    }

    mutating func add(_ name: StaticString, bytes: [UInt8]) {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = copy.initialize(from: bytes)
        copies.append(copy)
        note(
            OSSL_PARAM_BLD_push_octet_string(
                builder, Self.text(name), copy.baseAddress, copy.count) == 1)
    }

    mutating func add(_ name: StaticString, text: StaticString) {
        note(OSSL_PARAM_BLD_push_utf8_string(builder, Self.text(name), Self.text(text), 0) == 1)
    }

    /// The pointer is valid as long as the program runs.
    private static func text(_ text: StaticString) -> UnsafePointer<CChar> {
        UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }

    private mutating func note(_ isAdded: Bool) { isWhole = isWhole && isAdded }

    /// The key from these numbers; nil if libcrypto does not accept them. The caller owns it.
    func key(_ type: String) -> OpaquePointer? {
        guard isWhole, let params = OSSL_PARAM_BLD_to_param(builder) else { return nil }
        defer { OSSL_PARAM_free(params) }
        guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_fromdata_init(context) == 1,
            EVP_PKEY_fromdata(context, &key, gapless_evp_public_key, params) == 1
        else { return nil }
        return key
    }
}
