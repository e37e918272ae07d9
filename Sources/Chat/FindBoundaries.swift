// Finds the holes in a list of messages. There are two ways: by the numbers alone (1, 2, 3, …, and
// a deleted message keeps its number); or by the coverage that is held beside the list.

/// The runs of a list as pairs of messages, newest run first.
///
/// `[(A, Z)]` is a list without a hole: load the messages after A and those before Z. `[(A, D), (G,
/// Z)]` has one, between D and G. The list may be in any order. An empty list has no runs, one
/// message is a run of its own, and tombstones count: their place is known. Of several messages
/// with the same `seq`, the pair names the first in the list. A message without `seq` belongs to no
/// run, since its neighbours are unknown.
/// - Complexity: O(n) for a list in ascending or descending order, otherwise O(n log n).
public func findBoundaryMessages(
    ofMessageList list: [Message]
) -> [(newest: Message, oldest: Message)] {
    denseRuns(of: list).map { (newest: list[$0.newest], oldest: list[$0.oldest]) }
}

/// The runs of a list as pairs of positions in the list, newest run first: the position of the
/// run's newest message, then that of its oldest. Otherwise like `findBoundaryMessages`.
/// - Complexity: O(n) for a list in ascending or descending order, otherwise O(n log n).
public func findBoundaries(ofMessageList list: [Message]) -> [(Int, Int)] {
    denseRuns(of: list).map { ($0.newest, $0.oldest) }
}

/// The ends of the runs of `coverage`, newest run first: the newest and the oldest message held in
/// each run. Leaves out a run without a message (its messages are not in the list), and messages
/// outside `coverage`.
/// - Complexity: O(n log r + r) for n messages, in any order, and r runs.
public func findBoundaries(of messages: [Message], coverage: Coverage) -> [Boundary] {
    /// The seq and the position of each end of a run, as far as they are known.
    typealias Ends = (newest: (seq: Int, at: Int), oldest: (seq: Int, at: Int))
    var ends = [Ends?](repeating: nil, count: coverage.runs.count)
    for at in messages.indices {
        guard let seq = messages[at].seq, let run = coverage.runIndex(at: seq) else { continue }
        let known = ends[run] ?? (newest: (seq, at), oldest: (seq, at))
        ends[run] = (
            newest: seq > known.newest.seq ? (seq, at) : known.newest,
            oldest: seq < known.oldest.seq ? (seq, at) : known.oldest
        )
    }
    return ends.reversed().compactMap { $0 }.map { run in
        Boundary(
            newest: .init(id: messages[run.newest.at].id, seq: run.newest.seq),
            oldest: .init(id: messages[run.oldest.at].id, seq: run.oldest.seq))
    }
}

/// How many places `to` lies after `from`: 1 for the next message, 0 for the same, negative for an
/// older one. Nil if either has no `seq`, or they are of different conversations.
///
/// 1 means that nothing lies between them.
public func distance(from: Message, to: Message) -> Int? {
    guard from.conversation == to.conversation, let start = from.seq, let end = to.seq else {
        return nil
    }
    return end - start
}

/// The runs of consecutive `seq`, as positions in the list, newest first.
private func denseRuns(of list: [Message]) -> [(newest: Int, oldest: Int)] {
    var places = list.enumerated().compactMap { at, message in
        message.seq.map { (seq: $0, at: at) }
    }
    // A list in ascending order, the order of `merge`, is reversed, so that it needs no sorting. Of
    // equal numbers the first position comes first in both cases.
    if let first = places.first, let last = places.last, first.seq < last.seq { places.reverse() }
    let isInOrder = zip(places, places.dropFirst()).allSatisfy { $0.seq > $1.seq }
    if !isInOrder { places.sort { $0.seq == $1.seq ? $0.at < $1.at : $0.seq > $1.seq } }

    var runs: [(newest: Int, oldest: Int)] = []
    var previous: Int?
    for place in places {
        switch previous.map({ $0 - place.seq }) {
        case 0: continue
        case 1: runs[runs.count - 1].oldest = place.at
        default: runs.append((newest: place.at, oldest: place.at))
        }
        previous = place.seq
    }
    return runs
}
