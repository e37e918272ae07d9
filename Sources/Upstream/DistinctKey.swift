import Crypto
import Wire

/// The key by which an upstream finds the distinct conversation of some users.
extension [String] {
    /// A hash of the users, in any order.
    var distinctKey: [UInt8] {
        // No id has a control character, so line feeds separate them.
        let lines = map(\.exactID).sorted { $0.lexicographicallyPrecedes($1) }
        return Array<UInt8>(SHA256.hash(Array<UInt8>(lines.joined(separator: [0x0A]))).prefix(16))
    }
}
