import CCrypto
import Glibc

/// The certificates that a TLS client trusts and presents, as paths of PEM files. Each session
/// reads them anew, so that a renewed certificate applies from the next connection on.
package struct TLSOptions: Sendable, Hashable {
    /// The trusted authorities; nil for the system's.
    package var authorities: String?
    /// The client's own certificate with its chain, and its key; nil for none.
    package var certificate: String?
    package var key: String?
    /// The name that the server's certificate must have; nil for the host of the connection.
    package var name: String?

    package init() {}
}

/// Why a TLS connection failed.
package struct TLSError: Error, Sendable, Hashable {
    package enum Code: Sendable, Hashable {
        /// A file can't be used.
        case file
        /// The server's certificate is not trusted.
        case untrusted
        /// The certificate has another name.
        case anotherName
        /// The server requires a client certificate, or a different one.
        case refused
        /// The peer does not speak TLS, or its stream is broken.
        case broken
    }

    package let code: Code
    /// What was seen, in libssl's words; never any of the data.
    package let seen: String
}

/// One client-side TLS connection without a socket: the peer's bytes go in, bytes for the peer come
/// out. The server's certificate is always verified. TLS 1.2 or later. Used on one thread; the
/// handles are freed with the object.
package final class TLSSession {
    private static let chunk = 16 << 10

    private let context: OpaquePointer
    private let session: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    private let hasCertificate: Bool
    private var buffer = [UInt8](repeating: 0, count: TLSSession.chunk)

    /// - Parameter host: a name or an address.
    /// - Throws: `TLSError.file`, with the file and its fault.
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
        // A certificate lists addresses separately from names.
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
        // The session owns the two BIOs.
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
        // No passphrase: nobody is at a terminal to type one.
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
        // For a missing file libssl reports only "system lib".
        let isThere = access(file, R_OK) == 0
        let cause = isThere ? reason() : String(cString: strerror(errno))
        return TLSError(code: .file, seen: "\(file): \(cause)")
    }

    /// libssl's last error.
    private static func reason() -> String {
        let text = ERR_reason_error_string(ERR_peek_last_error())
        return text.map { String(cString: $0) } ?? "it can't be read"
    }

    // MARK: what comes and goes

    /// Bytes from the peer.
    package func take(_ bytes: ArraySlice<UInt8>) {
        _ = bytes.withUnsafeBytes { BIO_write(input, $0.baseAddress, Int32($0.count)) }
    }

    /// Bytes for the peer.
    package func pending() -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let count = BIO_read(output, &buffer, Int32(buffer.count))
            guard count > 0 else { return bytes }
            bytes += buffer[..<Int(count)]
        }
    }

    /// Continues the handshake.
    /// - Returns: whether it is complete.
    /// - Throws: `TLSError`; the pending bytes then tell the peer the reason.
    package func shakeHands() throws(TLSError) -> Bool {
        ERR_clear_error()
        let result = SSL_do_handshake(session)
        if result == 1 { return true }
        try check(result)
        return false
    }

    /// Encrypts bytes into the pending ones. Only after the handshake.
    /// - Throws: `TLSError`.
    package func seal(_ bytes: [UInt8]) throws(TLSError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            ERR_clear_error()
            let count = rest.withUnsafeBytes {
                SSL_write(session, $0.baseAddress, Int32(clamping: $0.count))
            }
            guard count > 0 else {
                try check(count)
                // To give up half of the bytes would shift the replies of a pipelined connection.
                throw TLSError(
                    code: .broken, seen: "it renegotiates TLS, which is not supported here")
            }
            rest = rest.dropFirst(Int(count))
        }
    }

    /// The decrypted bytes of all complete records.
    /// - Throws: `TLSError`, also if the peer sent an alert.
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

    /// Needing more bytes is not an error.
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
        // TLS 1.3 has an alert for this; before, the server only aborts the handshake.
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
