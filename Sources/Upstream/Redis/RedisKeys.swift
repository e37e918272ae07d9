import Wire

/// What the feed tells of: a conversation, who comes into and leaves a user's list, or whom every
/// gateway is to disconnect.
package enum RedisTopic: Sendable, Hashable {
    case conversation(ID)
    case list(ID)
    /// Whom all gateways are to disconnect.
    case disconnects
}

/// The names of keys and channels. All keys of a conversation lie in one hash slot, because its id
/// stands in braces; a channel's name has the database too, since channels are the same in all.
struct RedisKeys: Sendable {
    private static let parts = [
        "meta", "marks", "messages", "changes", "ids", "members", "reads", "deleted", "trimmed",
    ].map { Array(":\($0)".utf8) }

    private let prefix: [UInt8]
    private let users: [UInt8]
    private let ending: [UInt8]
    /// The stream of those who are to be disconnected. The braces put its channel into its slot.
    let disconnects: [UInt8]

    init(_ options: RedisOptions) {
        prefix = Array(options.prefix.utf8)
        users = prefix + Array("user:".utf8)
        disconnects = prefix + Array("disconnects:{all}".utf8)
        ending = Array(":feed/\(options.database)".utf8)
    }

    /// The keys of a conversation, in the order in which every script takes them.
    func keys(of conversation: String) -> [[UInt8]] {
        let name = name(of: conversation)
        return Self.parts.map { name + $0 }
    }

    /// Where a repair keeps the ids as they were, as long as it lasts.
    func kept(of conversation: String) -> [UInt8] {
        name(of: conversation) + Array(":repair".utf8)
    }

    /// Where the feed tells of it.
    func channel(of topic: RedisTopic) -> [UInt8] {
        switch topic {
        case .conversation(let id): channel(of: id.text)
        case .list(let user): list(of: user.text) + ending
        case .disconnects: disconnects + ending
        }
    }

    /// Where the changes of a conversation are told.
    func channel(of conversation: String) -> [UInt8] { name(of: conversation) + ending }

    /// The list of a user's conversations.
    func list(of user: String) -> [UInt8] { users + Array(user.utf8) }

    /// The log of what left it, in the order in which its scripts take the keys. The braces put
    /// them into one slot.
    func departures(of user: String) -> [[UInt8]] {
        let name = prefix + Array("departures:".utf8) + Self.braced(user)
        return Self.departures.map { name + $0 }
    }

    private static let departures = ["meta", "marks", "gone"].map { Array(":\($0)".utf8) }

    /// Which conversation is the distinct one of the people that `hash` stands for.
    func distinct(_ hash: String) -> [UInt8] { prefix + Array("distinct:\(hash)".utf8) }

    /// A brace in an id would end the part that decides over the slot.
    private func name(of conversation: String) -> [UInt8] { prefix + Self.braced(conversation) }

    private static func braced(_ id: String) -> [UInt8] {
        var name = [UInt8(ascii: "{")]
        for byte in id.utf8 {
            switch byte {
            case UInt8(ascii: "}"): name.append(contentsOf: "%7D".utf8)
            case UInt8(ascii: "%"): name.append(contentsOf: "%25".utf8)
            default: name.append(byte)
            }
        }
        name.append(UInt8(ascii: "}"))
        return name
    }

    /// What a channel tells of that `channel(of:)` named.
    func topic(ofChannel channel: [UInt8]) -> RedisTopic? {
        guard channel.starts(with: prefix), channel.count >= prefix.count + ending.count + 2 else {
            return nil
        }
        let name = channel[prefix.count..<(channel.count - ending.count)]
        if name.first == UInt8(ascii: "{") {
            return .conversation(conversation(named: name).id)
        }
        if channel.dropLast(ending.count).elementsEqual(disconnects) { return .disconnects }
        guard channel.starts(with: users) else { return nil }
        return .list(String(decoding: name.dropFirst(users.count - prefix.count), as: UTF8.self).id)
    }

    /// A key by which a server is named.
    func anchor(_ name: String) -> [UInt8] { prefix + Array(name.utf8) }

    /// The conversation of which this is a key.
    func conversation(ofKey key: [UInt8]) -> String {
        let name = key.dropFirst(prefix.count)
        let end = name.lastIndex(of: UInt8(ascii: "}")) ?? name.startIndex
        return conversation(named: name[...end])
    }

    /// The id that stands in braces.
    private func conversation(named name: ArraySlice<UInt8>) -> String {
        var id: [UInt8] = []
        var rest = name.dropFirst().dropLast()
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                id.append(byte)
                continue
            }
            id.append(UInt8(ascii: rest.starts(with: "7D".utf8) ? "}" : "%"))
            rest = rest.dropFirst(2)
        }
        return String(decoding: id, as: UTF8.self)
    }
}
