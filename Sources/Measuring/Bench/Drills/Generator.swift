/// SplitMix64: a deterministic generator, with the same choices in every run.
struct Generator: RandomNumberGenerator {
    private var state: UInt64 = 0x6A09_E667_F3BC_C908

    init() {}

    /// Different choices for each seed.
    init(seed: Int) { state ^= UInt64(truncatingIfNeeded: seed) &* 0xD1B5_4A32_D192_ED03 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
