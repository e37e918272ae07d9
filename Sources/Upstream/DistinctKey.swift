import Crypto
import Wire

/// The key by which an upstream finds the distinct conversation of some users.
extension [String] {
    /// A hash of the users, in any order.
    var distinctKey: [UInt8] {
        // No id has a control character, so line feeds separate them.
        let lines = inByteOrder
        var bytes: [UInt8] = []
        bytes.reserveCapacity(lines.reduce(0) { $0 + $1.utf8.count + 1 })
        for line in lines {
            if !bytes.isEmpty { bytes.append(0x0A) }
            bytes.append(contentsOf: line.utf8)
        }
        return Array<UInt8>(SHA256.hash(bytes).prefix(16))
    }

    /// Sorted by their bytes. For ASCII that is the order of strings, which is faster; other ones
    /// Swift orders by what they look like.
    private var inByteOrder: [String] {
        if allSatisfy({ $0.utf8.allSatisfy { $0 < 0x80 } }) { return sorted() }
        return sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
