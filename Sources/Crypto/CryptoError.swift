/// Why key material could not be used: the action, and what was seen. It never carries any part of
/// the material.
package struct CryptoError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The whole sentence: `read public key: not a PEM block (PUBLIC KEY)`.
    package var description: String

    package init(_ description: String) { self.description = description }
}
