import Chat

/// A row as the view shows it: an item of the data source, or one that a decorator added, with what
/// the decorator says of it.
public struct DecoratedChatItem {
    /// The same for as long as the row is there. Rows that a decorator adds have uids of their own,
    /// made of what they say, so that they stay the same rows while others come and go.
    public var uid: String
    /// The item.
    public var item: any ChatItemProtocol
    /// Whether it continues what the row above it says: the same author, within two minutes.
    public var continuesAuthor: Bool
}

/// The separator above the first message of a day.
public final class DaySeparator: ChatItemProtocol {
    /// `day 2026-11-20`
    public let uid: String
    /// `day`
    public let type: ChatItemType = "day"
    /// The day in UTC: `2026-11-20`.
    public let day: String

    init(_ day: String) {
        self.day = day
        uid = "day \(day)"
    }
}

/// Adds to a data source's items what only the view is interested in: a separator above each day,
/// and whether a message goes on from the one above. They are not part of the data source: its
/// counts and pages are those of messages.
public struct ChatItemsDecorator: Sendable {
    /// Messages of one author that are closer than this belong together, in milliseconds.
    private static let closeness: Int64 = 120_000

    /// A decorator.
    public init() {}

    /// The rows for these items, in their order.
    public func decorate(_ items: [any ChatItemProtocol]) -> [DecoratedChatItem] {
        var rows: [DecoratedChatItem] = []
        var above: Message?
        for item in items {
            guard let message = (item as? MessageItem)?.message else {
                rows.append(DecoratedChatItem(uid: item.uid, item: item, continuesAuthor: false))
                above = nil
                continue
            }
            let day = String(message.createdAt.description.prefix(10))
            if above.map({ $0.createdAt.description.prefix(10) != day }) ?? true {
                let separator = DaySeparator(day)
                if !rows.contains(where: { $0.uid == separator.uid }) {
                    rows.append(
                        DecoratedChatItem(
                            uid: separator.uid, item: separator, continuesAuthor: false))
                }
                above = nil
            }
            let isClose = above.map { above in
                above.author == message.author
                    && message.createdAt.milliseconds - above.createdAt.milliseconds
                        < Self.closeness
            }
            rows.append(
                DecoratedChatItem(uid: item.uid, item: item, continuesAuthor: isClose ?? false))
            above = message
        }
        return rows
    }

    /// The index of the row with this uid, or of the row of the item with it.
    public func index(of uid: String, in rows: [DecoratedChatItem]) -> Int? {
        rows.firstIndex { $0.uid == uid || $0.item.uid == uid }
    }
}
