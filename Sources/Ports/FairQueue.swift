import Wire

/// The beneficiary of a piece of work: a user, and one of the user's connections.
@usableFromInline package struct Payer: Sendable, Hashable {
    @usableFromInline package let user: ID
    @usableFromInline package let session: UInt64

    package init(user: ID, session: UInt64 = 0) {
        self.user = user
        self.session = session
    }

    /// Work of the gateway itself and of the server API. No user's id is empty.
    @usableFromInline package static let gateway = Payer(user: "".id)
}

extension Payer {
    /// Who the current thread works for, where passing it through every call of an operation would
    /// be too much.
    @TaskLocal package static var current = Payer.gateway
}

/// A fair queue of waiting work: each connection's work is first in, first out; the connections of
/// a user take turns by cost, and so do the users, however many connections each has. `FairTurns`
/// has the rule.
///
/// Inlinable, so that the modules that use it specialize it: looking up the type of the element
/// costs more than the turns. For that the types must be usable from inline, too: without it the
/// compiler accepts the attribute of a function and does nothing.
@usableFromInline package struct FairQueue<Element> {
    /// A piece of work.
    @usableFromInline package struct Piece {
        @usableFromInline package let element: Element
        @usableFromInline package let payer: Payer
        /// At least 1, the cost of a small request.
        @usableFromInline package let cost: Int
        /// Increases with each appended piece.
        @usableFromInline package let serial: Int

        @inlinable
        init(_ element: Element, for payer: Payer, cost: Int, serial: Int) {
            (self.element, self.payer) = (element, payer)
            (self.cost, self.serial) = (cost, serial)
        }
    }

    /// The waiting work of one user.
    @usableFromInline
    struct Lane {
        @usableFromInline var turns = FairTurns<UInt64>()
        @usableFromInline var lines: [UInt64: ArraySlice<Piece>] = [:]
        @usableFromInline var count = 0

        @inlinable
        init() {}

        @inlinable var isEmpty: Bool { lines.isEmpty }

        @inlinable
        mutating func append(_ piece: Piece) {
            let session = piece.payer.session
            if lines[session] == nil { turns.enter(session) }
            lines[session, default: []].append(piece)
            count += 1
        }

        @inlinable
        mutating func popFirst(isFree: Bool) -> Piece? {
            guard let session = turns.next(), let place = lines.index(forKey: session),
                let piece = lines.values[place].popFirst()
            else { return nil }
            let goesOn = !lines.values[place].isEmpty
            if !goesOn { lines.remove(at: place) }
            turns.take(cost: isFree ? 0 : piece.cost, goesOn: goesOn)
            count -= 1
            return piece
        }
    }

    @usableFromInline var turns = FairTurns<ID>()
    @usableFromInline var lanes: [ID: Lane] = [:]
    /// The only waiting piece, which is the usual case: while nothing else comes, no turns are
    /// needed and waiting allocates nothing.
    @usableFromInline var sole: Piece?
    @usableFromInline var serial = 0
    @usableFromInline var waiting = 0

    @inlinable package init() {}

    @inlinable package var count: Int { waiting }

    @inlinable package var isEmpty: Bool { count == 0 }

    @inlinable
    package mutating func append(_ element: Element, for payer: Payer, cost: Int) {
        serial += 1
        let piece = Piece(element, for: payer, cost: max(1, cost), serial: serial)
        waiting += 1
        if waiting == 1 {
            sole = piece
        } else {
            putSoleInLane()
            putInLane(piece)
        }
    }

    @inlinable
    mutating func putInLane(_ piece: Piece) {
        let user = piece.payer.user
        if lanes[user] == nil { turns.enter(user) }
        lanes[user, default: Lane()].append(piece)
    }

    /// Moves the sole piece into its lane.
    @inlinable
    mutating func putSoleInLane() {
        guard let first = sole else { return }
        sole = nil
        putInLane(first)
    }

    /// Whether `limit` leaves room for one more piece of this payer. A user may have as many pieces
    /// waiting as there is free room besides, so that some is always left for others. The gateway's
    /// own work may use all of it.
    @inlinable
    package func hasRoom(for payer: Payer, of limit: Int) -> Bool {
        guard count < limit else { return false }
        let own = sole?.payer.user == payer.user ? 1 : lanes[payer.user]?.count ?? 0
        return payer == .gateway || own == 0 || own < limit - count
    }

    /// The user whose turn is next.
    @inlinable
    package mutating func nextUser() -> ID? { sole?.payer.user ?? turns.next() }

    /// Removes the piece whose turn is next.
    /// - Parameter isFree: it will not be done, so its user is not charged.
    @inlinable
    package mutating func popFirst(isFree: Bool = false) -> Piece? {
        if let first = sole {
            // No turns were taken, so there is no accounting to keep.
            (sole, waiting) = (nil, 0)
            return first
        }
        guard let user = turns.next(), let place = lanes.index(forKey: user),
            let piece = lanes.values[place].popFirst(isFree: isFree)
        else { return nil }
        waiting -= 1
        let goesOn = !lanes.values[place].isEmpty
        if !goesOn { lanes.remove(at: place) }
        turns.take(cost: isFree ? 0 : piece.cost, goesOn: goesOn)
        return piece
    }

    /// Work for this payer has cost this much more than was estimated.
    @inlinable
    package mutating func charge(_ payer: Payer, _ cost: Int) {
        guard cost > 0 else { return }
        putSoleInLane()
        turns.charge(payer.user, cost)
        lanes[payer.user]?.turns.charge(payer.session, cost)
    }

    // MARK: - Removal

    /// The minimum of a value over all waiting pieces; nil if nothing waits.
    /// - Complexity: O(n).
    package func least<Value: Comparable>(_ value: (Element) -> Value) -> Value? {
        var least = sole.map { value($0.element) }
        for lane in lanes.values {
            for piece in lane.lines.values.joined() {
                let value = value(piece.element)
                least = least.map { min($0, value) } ?? value
            }
        }
        return least
    }

    /// Removes the pieces that are no longer needed, in order of arrival. If there are any,
    /// the users' past costs are forgotten.
    /// - Complexity: O(n), and O(n log n) if there was any.
    package mutating func removeAll(where isOver: (Element) -> Bool) -> [Element] {
        putSoleInLane()
        var pieces = lanes.values.flatMap { $0.lines.values.joined() }
        guard pieces.contains(where: { isOver($0.element) }) else { return [] }
        pieces.sort { $0.serial < $1.serial }
        self = FairQueue()
        var over: [Element] = []
        for piece in pieces {
            if isOver(piece.element) {
                over.append(piece.element)
            } else {
                append(piece.element, for: piece.payer, cost: piece.cost)
            }
        }
        return over
    }
}
