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

    /// A page that was asked for, and the load that asked for it; nil for a jump.
    struct Request {
        let token: Int
        let load: Load?
    }

    private(set) var underWay: [Place: Request] = [:]
    /// How many pages were asked for.
    private(set) var count = 0
    /// What brought nothing, and until when that is so; nil for as long as nothing else changes.
    private var spent: [Load: ContinuousClock.Instant?] = [:]

    /// Whether a page may be asked for at a place. Nothing is asked beside a jump: what is there
    /// then is not what the answer belongs to.
    func mayBegin(_ place: Place) -> Bool {
        underWay[place] == nil && underWay[.initial] == nil
    }

    mutating func begin(_ place: Place, _ load: Load?, token: Int) {
        underWay[place] = Request(token: token, load: load)
        count += 1
    }

    /// The page came, or will not.
    /// - Returns: whether it was a jump's, and the load that asked for it; nil if nobody awaits it.
    mutating func end(_ token: Int) -> (isJump: Bool, load: Load?)? {
        guard let (place, request) = underWay.first(where: { $0.value.token == token }) else {
            return nil
        }
        underWay[place] = nil
        return (place == .initial, request.load)
    }

    /// No answer will come.
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
