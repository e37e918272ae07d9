/// The changes of a timeline in one step, and how they are applied.
extension Timeline {
    /// The smallest set of changes with which a view shows what a timeline holds now.
    ///
    /// A plain value, to be applied as list views do: the indices of deletions, and those from
    /// which something moves, count in the old list; all others in the new one. A message is named
    /// at most once; one that moved may have a new value too.
    public struct Changes: Sendable, Hashable {
        /// One message that changed.
        public struct Item: Sendable, Hashable {
            /// The message's id.
            public var id: String
            /// Its index in the list, new or old.
            public var index: Int
        }

        /// One message whose position among the messages that were there before has changed.
        public struct Move: Sendable, Hashable {
            /// The message's id.
            public var id: String
            /// Its index in the old list.
            public var from: Int
            /// Its index in the new list.
            public var to: Int
        }

        /// New messages, ascending.
        public var inserted: [Item] = []
        /// Messages that left the list, ascending by the old index.
        public var deleted: [Item] = []
        /// Moved messages, ascending by the new index.
        public var moved: [Move] = []
        /// Messages with another value, or whose `isHeld` changed; ascending.
        public var updated: [Item] = []

        /// No changes.
        public init() {}

        /// Whether a view has nothing to do.
        public var isEmpty: Bool {
            inserted.isEmpty && deleted.isEmpty && moved.isEmpty && updated.isEmpty
        }
    }

    /// Pending changes, one entry per message, in the order in which they were decided.
    struct Edits {
        struct Edit {
            let id: String
            /// The entry that the list will have; nil for none.
            var entry: Entry?
        }

        private(set) var list: [Edit] = []
        private var slots: [RecordKey: Int] = [:]

        subscript(id: String) -> Edit? { slots[RecordKey(id)].map { list[$0] } }

        mutating func set(_ id: String, _ entry: Entry?) {
            if let slot = slots[RecordKey(id)] {
                list[slot].entry = entry
            } else {
                slots[RecordKey(id)] = list.count
                list.append(Edit(id: id, entry: entry))
            }
        }

        /// Marks the messages at the lost places as only shown.
        mutating func demote(where isLost: (Place) -> Bool) {
            for slot in list.indices {
                if let place = list[slot].entry?.place, isLost(place) {
                    list[slot].entry?.isHeld = false
                }
            }
        }
    }
}
