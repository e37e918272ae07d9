/// What a page of messages is, as it goes into a timeline.
extension Timeline {
    /// One page of messages on its way into a timeline, with what it proves.
    ///
    /// A plain value, made of a reply. A gateway says in `covers` what a page proves; the other
    /// form is for origins that do not, and goes by the number of messages as they came, before
    /// anything was taken out of them as a duplicate.
    public struct Page: Sendable {
        /// A message to ask from.
        public enum Anchor: Sendable, Hashable {
            /// The one with this place.
            case seq(Int)
            /// The one with this id.
            case id(String)
        }

        /// What was asked for.
        public enum Kind: Sendable, Hashable {
            /// What the list begins with: it replaces everything.
            case initial
            /// The newest messages.
            case latest
            /// The nearest messages before one.
            case before(Anchor)
            /// The nearest messages after one.
            case after(Anchor)
            /// A place in the history, such as a quoted message with its neighbours.
            case around
        }

        /// How many unread messages there are, as the origin said with the page.
        public struct UnreadCount: Sendable, Hashable {
            /// In the whole conversation.
            public var total: Int
            /// After the newest message of the page.
            public var after: Int

            /// How many unread messages there are.
            public init(total: Int, after: Int) {
                self.total = total
                self.after = after
            }
        }

        /// What was asked for.
        public var kind: Kind
        /// Of which conversation.
        public var conversation: String
        /// In which generation of the timeline it was asked for; nil for whichever.
        public var generation: Int?
        /// The messages, in any order.
        public var messages: [Message]
        /// Whether there is more beyond its ends.
        public var hasMore: HasMore
        /// The places that it proves; nil to go by the page rule.
        public var covers: Coverage?
        /// The places in it that are missing or outdated.
        public var gaps = Coverage()
        /// The newest place that the origin had given; nil if it did not say.
        public var head: Int?
        /// The oldest place that the origin has.
        public var floor = 1
        /// The number of the change as of which it was read; nil if it came in one order with the
        /// deltas.
        public var asOf: Int?
        /// Whether it came from a cache and will be followed by the real one: it is only shown.
        public var isCached = false
        /// Whether it begins next to the message that it was asked from. An origin that returns
        /// the *newest* messages after one does not, where there are more than it returned.
        public var isNextToAnchor = true
        /// How many unread messages there are; nil if the origin did not say.
        public var unread: UnreadCount?

        /// A page that says what it proves, as the gateway's do.
        public init(
            _ kind: Kind, of conversation: String, messages: [Message], hasMore: HasMore,
            covers: Coverage?
        ) {
            self.kind = kind
            self.conversation = conversation
            self.messages = messages
            self.hasMore = hasMore
            self.covers = covers
        }

        /// A page of an origin that returns up to `limit` messages and says no more. A full page
        /// may have been the last; nobody knows before the next.
        ///
        /// - Parameter newestFirst: whether the origin answers `after` with the newest messages
        ///   after the anchor, not with the next.
        public init(
            _ kind: Kind, of conversation: String, messages: [Message], limit: Int,
            newestFirst: Bool = false
        ) {
            let isFull = messages.count >= limit
            let hasMore =
                switch kind {
                case .initial, .latest: HasMore(before: isFull, after: false)
                case .before: HasMore(before: isFull, after: true)
                case .after: HasMore(before: true, after: isFull && !newestFirst)
                case .around: HasMore(before: true, after: true)
                }
            self.init(kind, of: conversation, messages: messages, hasMore: hasMore, covers: nil)
            if case .after = kind { isNextToAnchor = !(newestFirst && isFull) }
        }
    }
}
