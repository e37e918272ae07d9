/// Why key material could not be used: what was being done, and what was seen. It never carries
/// the material, or any part of it.
package struct CryptoError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The whole sentence: `read public key: not a PEM block (PUBLIC KEY)`.
    package var description: String

    package init(_ description: String) { self.description = description }
}
