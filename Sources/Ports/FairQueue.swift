import Wire

/// Whom a piece of work is for: a user, and one of the user's connections.
package struct Payer: Sendable, Hashable {
    package let user: ID
    package let session: UInt64

    package init(user: ID, session: UInt64 = 0) {
        self.user = user
        self.session = session
    }

    /// What nobody has asked for, and the server API. No user's id is empty.
    package static let gateway = Payer(user: "".id)
}

extension Payer {
    /// For whom the thread works at the moment, where that would have to be handed through all that
    /// an operation leads to.
    @TaskLocal package static var current = Payer.gateway
}

/// Work that waits: a connection's stands in the order in which it came, the connections of a user
/// take turns by what it costs, and so do the users, whichever number of connections they have. See
/// `FairTurns` for the rule.
package struct FairQueue<Element> {
    /// A piece of work.
    package struct Piece {
        package let element: Element
        package let payer: Payer
        /// At least 1: what a small request costs.
        package let cost: Int
        /// Rises with each piece that was appended.
        package let serial: Int
    }

    /// What waits of one user.
    private struct Lane {
        var turns = FairTurns<UInt64>()
        var lines: [UInt64: ArraySlice<Piece>] = [:]
        var count = 0

        var isEmpty: Bool { lines.isEmpty }

        mutating func append(_ piece: Piece) {
            let session = piece.payer.session
            if lines[session] == nil { turns.enter(session) }
            lines[session, default: []].append(piece)
            count += 1
        }

        mutating func popFirst(isFree: Bool) -> Piece? {
            guard let session = turns.next(), let piece = lines[session]?.popFirst() else {
                return nil
            }
            let goesOn = lines[session]?.isEmpty == false
            if !goesOn { lines[session] = nil }
            turns.take(cost: isFree ? 0 : piece.cost, goesOn: goesOn)
            count -= 1
            return piece
        }
    }

    private var turns = FairTurns<ID>()
    private var lanes: [ID: Lane] = [:]
    /// What came when nothing waited, which is what most pieces do: as long as nothing else comes
    /// there are no turns to be taken, and it costs no memory to wait.
    private var sole: Piece?
    private var serial = 0
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    package mutating func append(_ element: Element, for payer: Payer, cost: Int) {
        serial += 1
        let piece = Piece(
            element: element, payer: payer, cost: max(1, cost), serial: serial)
        count += 1
        if count == 1 {
            sole = piece
        } else {
            lineUp()
            stand(piece)
        }
    }

    private mutating func stand(_ piece: Piece) {
        let user = piece.payer.user
        if lanes[user] == nil { turns.enter(user) }
        lanes[user, default: Lane()].append(piece)
    }

    /// Turns are to be taken from here on.
    private mutating func lineUp() {
        guard let first = sole else { return }
        sole = nil
        stand(first)
    }

    /// Whether one more of this one's finds room where so many may wait: a user may have as many as
    /// there is room for besides, so that there is always some for others. What is the gateway's
    /// own may fill it.
    package func hasRoom(for payer: Payer, of limit: Int) -> Bool {
        guard count < limit else { return false }
        let own = sole?.payer.user == payer.user ? 1 : lanes[payer.user]?.count ?? 0
        return payer == .gateway || own == 0 || own < limit - count
    }

    /// Whose turn it is.
    package mutating func nextUser() -> ID? { sole?.payer.user ?? turns.next() }

    /// The piece whose turn it is.
    /// - Parameter isFree: it is not done, and costs its user nothing.
    package mutating func popFirst(isFree: Bool = false) -> Piece? {
        if let first = sole {
            // Nobody else stands, so that nothing of it is kept.
            (sole, count) = (nil, 0)
            return first
        }
        guard let user = turns.next(), let piece = lanes[user]?.popFirst(isFree: isFree) else {
            return nil
        }
        count -= 1
        let goesOn = lanes[user]?.isEmpty == false
        if !goesOn { lanes[user] = nil }
        turns.take(cost: isFree ? 0 : piece.cost, goesOn: goesOn)
        return piece
    }

    /// What was done for this one has cost so much more than was said.
    package mutating func charge(_ payer: Payer, _ cost: Int) {
        guard cost > 0 else { return }
        lineUp()
        turns.charge(payer.user, cost)
        lanes[payer.user]?.turns.charge(payer.session, cost)
    }

    // MARK: - What is not done

    /// The least of what these say of all that waits; nil if nothing does.
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

    /// Takes out what is not to be done any more, in the order in which it came. If there was any,
    /// what users have had so far is forgiven.
    /// - Complexity: O(n), and O(n log n) if there was any.
    package mutating func removeAll(where isOver: (Element) -> Bool) -> [Element] {
        lineUp()
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
