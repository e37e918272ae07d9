/// A page of messages, in the form in which a timeline takes it.
extension Timeline {
    /// One page of messages for a timeline, with what it proves.
    ///
    /// A plain value, made from a reply. A gateway's page has `covers`; the second initializer is
    /// for origins without it, and decides by the number of messages as they came, before
    /// duplicates are removed.
    public struct Page: Sendable {
        /// The message that a page is fetched from.
        public enum Anchor: Sendable, Hashable {
            /// The message with this seq.
            case seq(Int)
            /// The message with this id.
            case id(String)
        }

        /// What was requested.
        public enum Kind: Sendable, Hashable {
            /// The first page of a list: it replaces everything.
            case initial
            /// The newest messages.
            case latest
            /// The nearest messages before the anchor.
            case before(Anchor)
            /// The nearest messages after the anchor.
            case after(Anchor)
            /// A part of the history, such as a quoted message with its neighbours.
            case around
        }

        /// The unread counts that the origin sent with the page.
        public struct UnreadCount: Sendable, Hashable {
            /// In the whole conversation.
            public var total: Int
            /// After the newest message of the page.
            public var after: Int

            /// Unread counts.
            public init(total: Int, after: Int) {
                self.total = total
                self.after = after
            }
        }

        /// What was requested.
        public var kind: Kind
        /// The id of the conversation.
        public var conversation: String
        /// The generation of the timeline in which the page was requested; nil for any.
        public var generation: Int?
        /// The messages, in any order.
        public var messages: [Message]
        /// Whether there are more messages beyond its ends.
        public var hasMore: HasMore
        /// The places that it proves; nil to derive them by the page rule.
        public var covers: Coverage?
        /// The places in it that are missing or outdated.
        public var gaps = Coverage()
        /// The newest place that the origin had given; nil if unknown.
        public var head: Int?
        /// The oldest place that the origin has.
        public var floor = 1
        /// The number of the change as of which it was read; nil if it came in one order with the
        /// deltas.
        public var asOf: Int?
        /// Whether it came from a cache: it is only shown, and the real page follows.
        public var isCached = false
        /// Whether it begins next to its anchor. It does not if the origin returns the *newest*
        /// messages after the anchor and there are more than it returned.
        public var isNextToAnchor = true
        /// The unread counts; nil if the origin did not send them.
        public var unread: UnreadCount?

        /// A page with `covers`, as the gateway sends it.
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

        /// A page of an origin that returns up to `limit` messages and nothing else. A full page
        /// may have been the last; only the next request can tell.
        ///
        /// - Parameter newestFirst: whether the origin answers `after` with the newest messages
        ///   after the anchor, not with the next ones.
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
