/// FNV-1a, a hash of 64 bits that is the same in every process, on every machine and in every
/// version: clients hold some of these hashes. It is no protection against chosen input: an
/// attacker easily finds two inputs with one hash.
extension Sequence<UInt8> {
    /// The hash of the bytes.
    /// - Parameter start: the hash of what comes before them.
    @inlinable package func fnv1a(after start: UInt64 = 14_695_981_039_346_656_037) -> UInt64 {
        reduce(start) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
    }
}

extension UInt64 {
    /// A hash of which each bit depends on each byte.
    package var mixed: UInt64 {
        var mixed = (self ^ self >> 33) &* 0xFF51_AFD7_ED55_8CCD
        mixed = (mixed ^ mixed >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return mixed ^ mixed >> 33
    }
}
