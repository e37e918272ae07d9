/// What a list view has to do to get from one array of items to another.
///
/// An item is the same if uid and type are: one whose type changed is deleted and inserted. Where a
/// uid stands twice, the last one counts. `moves` name every item whose index is another, also
/// where only something before it came or went, as the views that this is for expect it.
public struct ChatItemChanges: Sendable, Hashable {
    /// An item that was there and is.
    public struct Move: Sendable, Hashable {
        /// Its index in the old array.
        public var from: Int
        /// Its index in the new array.
        public var to: Int
    }

    /// Indices in the new array of what was not there.
    public var insertions: Set<Int> = []
    /// Indices in the old array of what is gone.
    public var deletions: Set<Int> = []
    /// What stands at another index, ascending by the new one.
    public var moves: [Move] = []

    private struct Key: Hashable {
        var uid: String
        var type: ChatItemType

        init(_ item: any ChatItemProtocol) {
            uid = item.uid
            type = item.type
        }
    }

    /// The changes from one array to another.
    public init(from old: [any ChatItemProtocol], to new: [any ChatItemProtocol]) {
        let before = Self.index(old)
        let after = Self.index(new)
        for (key, index) in before where after[key] == nil { deletions.insert(index) }
        for (key, index) in after {
            guard let from = before[key] else {
                insertions.insert(index)
                continue
            }
            if from != index { moves.append(Move(from: from, to: index)) }
        }
        moves.sort { $0.to < $1.to }
    }

    private static func index(_ items: [any ChatItemProtocol]) -> [Key: Int] {
        Dictionary(items.enumerated().map { (Key($1), $0) }) { $1 }
    }
}
