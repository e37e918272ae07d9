import ClientCore

/// The pages that a feed has asked for, by the place where they are missing, and what brought
/// nothing when it was asked for. A value.
struct PageLoads {
    /// Where a page is asked for.
    enum Place: Hashable {
        case initial, older, newer, gap
    }

    /// So long after it failed, a load is not asked for again by itself.
    private static let patience = Duration.seconds(2)

    private(set) var underWay: [Place: Int] = [:]
    /// How many pages were asked for.
    private(set) var count = 0
    private var asked: [Int: Load] = [:]
    /// What brought nothing, and until when that is so; nil for as long as nothing else changes.
    private var spent: [Load: ContinuousClock.Instant?] = [:]

    /// Whether a page may be asked for at a place. Nothing is asked beside a jump: what is there
    /// then is not what the answer belongs to.
    func mayBegin(_ place: Place) -> Bool {
        underWay[place] == nil && underWay[.initial] == nil
    }

    mutating func begin(_ place: Place, _ load: Load?, token: Int) {
        underWay[place] = token
        asked[token] = load
        count += 1
    }

    /// The page came, or will not.
    /// - Returns: whether it was a jump's, and the load that asked for it; nil if nobody awaits it.
    mutating func end(_ token: Int) -> (isJump: Bool, load: Load?)? {
        guard underWay.values.contains(token) else { return nil }
        let isJump = underWay[.initial] == token
        underWay = underWay.filter { $0.value != token }
        return (isJump, asked.removeValue(forKey: token))
    }

    /// No answer comes any more.
    mutating func dropUnderWay() { underWay = [:] }

    // MARK: What brought nothing

    /// A load failed: it is left out for a while.
    mutating func noteFailure(_ load: Load) { spent[load] = ContinuousClock.now + Self.patience }

    /// A load brought nothing: it is left out until something changes.
    mutating func noteNothing(_ load: Load) { spent[load] = .some(nil) }

    /// Something changed: every load may bring something again.
    mutating func forgetSpent() { spent = [:] }

    func mayBring(_ load: Load) -> Bool {
        guard let end = spent[load] else { return true }
        return end.map { ContinuousClock.now >= $0 } ?? false
    }
}
