import CWebSockets
import Glibc

/// OpenSSL's context for the handshakes of one host; the host owns it.
struct TLSContext {
    let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }
}

/// A certificate chain and its key, as OpenSSL read them from PEM files. Immutable; `VirtualHost`
/// replaces it by another one. The hosts of several loops may present the same.
// Safety: after `init` nothing is written except OpenSSL's reference counts, which are atomic.
final class Certificate: @unchecked Sendable {
    /// Owns the objects that the pointers below refer to.
    private let context: OpaquePointer
    private let leaf: OpaquePointer
    private let key: OpaquePointer
    private let chain: OpaquePointer?

    /// - Throws: `WebSocketError` `certificate`, with the file and OpenSSL's reason.
    init(_ files: TLSFiles) throws(WebSocketError) {
        for path in [files.certificate, files.key] where access(path, R_OK) != 0 {
            throw WebSocketError(
                .certificate, "loading TLS from \(path): \(String(cString: strerror(errno)))")
        }
        ERR_clear_error()
        guard let context = SSL_CTX_new(TLS_server_method()) else {
            throw Self.refused("the library", "no memory for a certificate")
        }
        // Otherwise OpenSSL would ask for a passphrase on the terminal.
        SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in -1 }
        let failure: WebSocketError? =
            if SSL_CTX_use_certificate_chain_file(context, files.certificate) != 1 {
                Self.refused(files.certificate, "not a PEM chain")
            } else if SSL_CTX_use_PrivateKey_file(context, files.key, SSL_FILETYPE_PEM) != 1 {
                Self.refused(
                    files.key,
                    "the PEM key of \(files.certificate) is needed, without a passphrase")
            } else {
                nil
            }
        guard failure == nil, let leaf = SSL_CTX_get0_certificate(context),
            let key = SSL_CTX_get0_privatekey(context)
        else {
            SSL_CTX_free(context)
            throw failure ?? Self.refused(files.certificate, "no certificate in it")
        }
        self.context = context
        self.leaf = leaf
        self.key = key
        var chain: OpaquePointer?
        SSL_CTX_ctrl(context, SSL_CTRL_GET_CHAIN_CERTS, 0, &chain)
        self.chain = chain
    }

    deinit {
        SSL_CTX_free(context)
    }

    /// Presents itself in a handshake, whatever certificate was loaded before.
    /// - Returns: whether OpenSSL accepted it.
    func present(to handshake: OpaquePointer) -> Bool {
        SSL_certs_clear(handshake)
        return SSL_use_cert_and_key(handshake, leaf, key, chain, 1) == 1
    }

    /// Days until it expires; negative afterwards.
    var daysLeft: Int {
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard ASN1_TIME_diff(&days, &seconds, nil, X509_get0_notAfter(leaf)) == 1 else { return 0 }
        return seconds < 0 ? Int(days) - 1 : Int(days)
    }

    static func == (one: Certificate, other: Certificate) -> Bool {
        X509_cmp(one.leaf, other.leaf) == 0
    }

    private static func refused(_ path: String, _ accepted: String) -> WebSocketError {
        let code = ERR_peek_error()
        ERR_clear_error()
        let reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "refused"
        return WebSocketError(.certificate, "loading TLS from \(path): \(reason) (\(accepted))")
    }
}
