/// Strings by their bytes, as ids and names of JSON members are compared.
extension String {
    /// Whether both have the same bytes. Strings are equal if they look alike, and their UTF-8 is
    /// compared by an iterator of each, which takes several times the instructions for the short
    /// ones that keys and ids are.
    package func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return utf8.reading { own in
            other.utf8.reading { others in
                for index in own.indices where own[index] != others[index] { return false }
                return true
            }
        }
    }

    /// Hashes the bytes, eight at a time. Strings that look alike have one hash in Swift, whatever
    /// their bytes are.
    package func hashBytes(into hasher: inout Hasher) {
        utf8.reading { bytes in
            var word: UInt64 = 0
            for index in bytes.indices {
                word = word << 8 | UInt64(bytes[index])
                if index & 7 == 7 {
                    hasher.combine(word)
                    word = 0
                }
            }
            hasher.combine(word)
            hasher.combine(bytes.count)
        }
    }
}
