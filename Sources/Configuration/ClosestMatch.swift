/// Finds the word that was most likely meant, for "did you mean" hints.
package enum ClosestMatch {
    /// The candidate nearest to `word`, or nil if none is near: at most a third of the letters may
    /// differ. A key without its section is near, and so is the beginning of one.
    package static func of(
        _ word: String, in candidates: some Sequence<String>
    ) -> String? {
        let limit = max(1, word.count / 3)
        var best: (word: String, distance: Int)?
        for candidate in candidates {
            var distance = distance(word, candidate)
            if word.count > 2, candidate.hasSuffix("." + word) || candidate.hasPrefix(word) {
                distance = min(distance, 1)
            }
            if distance <= limit, distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.word
    }

    /// ` (did you mean …?)`, or nothing.
    package static func hint(
        for word: String, in candidates: some Sequence<String>
    ) -> String {
        of(word, in: candidates).map { " (did you mean \($0)?)" } ?? ""
    }

    /// The number of letters to change, add, remove or swap with their neighbour to make `a` into
    /// `b` (optimal string alignment), ignoring case.
    /// - Complexity: O(length of `a` × length of `b`)
    package static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.lowercased())
        let b = Array(b.lowercased())
        var earlier: [Int] = []
        var previous = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var cost = min(previous[j + 1], row[j]) + 1
                cost = min(cost, previous[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    cost = min(cost, earlier[j - 1] + 1)
                }
                row.append(cost)
            }
            earlier = previous
            previous = row
        }
        return previous[b.count]
    }
}
