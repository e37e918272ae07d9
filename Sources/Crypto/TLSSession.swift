import CCrypto
import Glibc

/// Whom a TLS client trusts and what it shows of itself: paths of PEM files. Each session reads
/// them anew, so that a certificate that was renewed counts with the next connection.
package struct TLSOptions: Sendable, Hashable {
    /// The authorities that are trusted; nil: those of the system.
    package var authorities: String?
    /// The client's own certificate with its chain, and its key; nil: none.
    package var certificate: String?
    package var key: String?
    /// The name that the server's certificate must have; nil: the host that is connected to.
    package var name: String?

    package init() {}
}

/// Why there is no TLS connection.
package struct TLSError: Error, Sendable, Hashable {
    package enum Code: Sendable, Hashable {
        /// A file can't be used.
        case file
        /// The server's certificate is not one that counts here.
        case untrusted
        /// The certificate has another name.
        case anotherName
        /// The server wants a certificate of the client's, or another one.
        case refused
        /// It is no TLS, or broken.
        case broken
    }

    package let code: Code
    /// What was seen, in libssl's words; nothing of what was sent.
    package let seen: String
}

/// One TLS connection of a client, without a socket: bytes of the other side go in, bytes for the
/// other side come out. The server's certificate is always verified. TLS 1.2 or later. Used on one
/// thread; the handles end with the object.
package final class TLSSession {
    private static let chunk = 16 << 10

    private let context: OpaquePointer
    private let session: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    private let hasCertificate: Bool
    private var buffer = [UInt8](repeating: 0, count: TLSSession.chunk)

    /// - Parameter host: a name or an address.
    /// - Throws: `TLSError.file`, naming what is wrong with which.
    package init(_ options: TLSOptions, host: String) throws(TLSError) {
        guard let context = try Self.context(options), let session = SSL_new(context),
            let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem())
        else { throw TLSError(code: .broken, seen: "no memory") }
        self.context = context
        self.session = session
        self.input = input
        self.output = output
        hasCertificate = options.certificate != nil
        SSL_set_bio(session, input, output)
        SSL_set_connect_state(session)
        let name = options.name ?? host
        // An address is no name, and stands in another part of a certificate.
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name) != 1 {
            SSL_set1_host(session, name)
            name.withCString { text in
                _ = SSL_ctrl(
                    session, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name),
                    UnsafeMutableRawPointer(mutating: text))
            }
        }
    }

    deinit {
        // The two buffers go with the session.
        SSL_free(session)
        SSL_CTX_free(context)
    }

    private static func context(_ options: TLSOptions) throws(TLSError) -> OpaquePointer? {
        guard let context = SSL_CTX_new(TLS_client_method()) else { return nil }
        do throws(TLSError) {
            try prepare(context, options)
            return context
        } catch {
            SSL_CTX_free(context)
            throw error
        }
    }

    private static func prepare(
        _ context: OpaquePointer, _ options: TLSOptions
    ) throws(TLSError) {
        ERR_clear_error()
        _ = SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        // Nobody sits at the terminal to type what a key is locked with.
        SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
        if let file = options.authorities {
            guard SSL_CTX_load_verify_locations(context, file, nil) == 1 else {
                throw unusable(file)
            }
        } else {
            SSL_CTX_set_default_verify_paths(context)
        }
        guard let certificate = options.certificate, let key = options.key else { return }
        guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
            throw unusable(certificate)
        }
        guard SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_check_private_key(context) == 1
        else { throw unusable(key) }
    }

    private static func unusable(_ file: String) -> TLSError {
        // Of a file that is not there libssl says no more than "system lib".
        let isThere = access(file, R_OK) == 0
        let cause = isThere ? reason() : String(cString: strerror(errno))
        return TLSError(code: .file, seen: "\(file): \(cause)")
    }

    /// What libssl said last.
    private static func reason() -> String {
        let text = ERR_reason_error_string(ERR_peek_last_error())
        return text.map { String(cString: $0) } ?? "it can't be read"
    }

    // MARK: what comes and goes

    /// Bytes of the other side.
    package func take(_ bytes: ArraySlice<UInt8>) {
        _ = bytes.withUnsafeBytes { BIO_write(input, $0.baseAddress, Int32($0.count)) }
    }

    /// Bytes for the other side.
    package func pending() -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let count = BIO_read(output, &buffer, Int32(buffer.count))
            guard count > 0 else { return bytes }
            bytes += buffer[..<Int(count)]
        }
    }

    /// Goes on with the handshake.
    /// - Returns: whether it is done.
    /// - Throws: `TLSError`; what is pending then tells the other side why.
    package func shakeHands() throws(TLSError) -> Bool {
        ERR_clear_error()
        let result = SSL_do_handshake(session)
        if result == 1 { return true }
        try check(result)
        return false
    }

    /// Puts bytes into what is pending, sealed. Only after the handshake.
    /// - Throws: `TLSError`.
    package func seal(_ bytes: [UInt8]) throws(TLSError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            ERR_clear_error()
            let count = rest.withUnsafeBytes {
                SSL_write(session, $0.baseAddress, Int32(clamping: $0.count))
            }
            guard count > 0 else { return try check(count) }
            rest = rest.dropFirst(Int(count))
        }
    }

    /// The bytes that have arrived whole.
    /// - Throws: `TLSError`, also where the other side says what it does not like.
    package func opened() throws(TLSError) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            ERR_clear_error()
            let count = SSL_read(session, &buffer, Int32(buffer.count))
            guard count > 0 else {
                try check(count)
                return bytes
            }
            bytes += buffer[..<Int(count)]
        }
    }

    /// Nothing is wrong where more bytes are needed.
    private func check(_ result: Int32) throws(TLSError) {
        switch SSL_get_error(session, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return
        case SSL_ERROR_ZERO_RETURN: throw TLSError(code: .broken, seen: "the other side closed")
        default: throw failure()
        }
    }

    private func failure() -> TLSError {
        let verdict = SSL_get_verify_result(session)
        if verdict != Int(X509_V_OK) {
            let text = String(cString: X509_verify_cert_error_string(verdict))
            let isName = [X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH]
                .contains(Int32(clamping: verdict))
            return TLSError(
                code: isName ? .anotherName : .untrusted, seen: "its certificate: \(text)")
        }
        let code = ERR_GET_REASON(ERR_peek_last_error())
        // TLS 1.3 says so; before, the server only ends the handshake.
        let isWanted =
            code == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED
            || code == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE && !hasCertificate
        if isWanted { return TLSError(code: .refused, seen: "it wants a client certificate") }
        let refusals = [
            SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
            SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
            SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, SSL_R_TLSV1_ALERT_UNKNOWN_CA,
            SSL_R_TLSV1_ALERT_ACCESS_DENIED,
        ]
        if refusals.contains(code) {
            return TLSError(
                code: .refused, seen: "it refuses our certificate (\(Self.reason()))")
        }
        return TLSError(code: .broken, seen: "no TLS, or broken (\(Self.reason()))")
    }
}
