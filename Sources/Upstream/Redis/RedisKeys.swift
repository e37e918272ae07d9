import Wire

/// A topic of the feed: a conversation, a user's list, requests to disconnect users, or who is
/// there.
package enum RedisTopic: Sendable, Hashable {
    case conversation(ID)
    case list(ID)
    /// Requests to all gateways to disconnect a user.
    case disconnects
    /// Whom gateways say to be there, or no longer.
    case presence
}

/// The names of keys and channels. All keys of a conversation are in one hash slot, because its id
/// is in braces; channel names include the database, since channels are shared by all databases.
struct RedisKeys: Sendable {
    private static let parts = [
        "meta", "marks", "messages", "changes", "ids", "members", "reads", "deleted", "trimmed",
        "reactions",
    ].map { Array(":\($0)".utf8) }

    private let prefix: [UInt8]
    private let users: [UInt8]
    private let ending: [UInt8]
    /// The stream of requests to disconnect. The braces put its channel in the same slot.
    let disconnects: [UInt8]
    /// The keys of who is there, in the order in which its script takes them: leases, gateways,
    /// users, and users by when they were said.
    let presence: [[UInt8]]
    private let presences: [UInt8]

    init(_ options: RedisOptions) {
        prefix = Array(options.prefix.utf8)
        users = prefix + Array("user:".utf8)
        disconnects = prefix + Array("disconnects:{all}".utf8)
        presences = prefix + Array("presence:{all}".utf8)
        presence = [":leases", ":gateways", ":users", ":said"].map { [presences] in
            presences + Array($0.utf8)
        }
        ending = Array(":feed/\(options.database)".utf8)
    }

    /// The keys of a conversation, in the order in which every script takes them; the last is that
    /// of reactions.
    func keys(of conversation: String) -> [[UInt8]] {
        let name = name(of: conversation)
        return Self.parts.map { name + $0 }
    }

    /// The key that says up to which version of the protocol the origin is enabled.
    var enabled: [UInt8] { prefix + Array("enabled".utf8) }

    /// The key of the log's own fields.
    func meta(of conversation: String) -> [UInt8] { name(of: conversation) + Array(":meta".utf8) }

    /// The key of the participants.
    func members(of conversation: String) -> [UInt8] {
        name(of: conversation) + Array(":members".utf8)
    }

    /// The key where a repair keeps the old `ids` while it runs.
    func kept(of conversation: String) -> [UInt8] {
        name(of: conversation) + Array(":repair".utf8)
    }

    /// The channel of a topic.
    func channel(of topic: RedisTopic) -> [UInt8] {
        switch topic {
        case .conversation(let id): channel(of: id.text)
        case .list(let user): list(of: user.text) + ending
        case .disconnects: disconnects + ending
        case .presence: presences + ending
        }
    }

    /// The channel of a conversation.
    func channel(of conversation: String) -> [UInt8] { name(of: conversation) + ending }

    /// The list of a user's conversations.
    func list(of user: String) -> [UInt8] { users + Array(user.utf8) }

    /// The conversations that a user created, scored by when each was last looked at.
    func created(by user: String) -> [UInt8] { prefix + Array("created:\(user)".utf8) }

    /// The keys of the list's log of departures, in the order in which its scripts take them. The
    /// braces put them in one slot.
    func departures(of user: String) -> [[UInt8]] {
        let name = prefix + Array("departures:".utf8) + Self.braced(user)
        return Self.departures.map { name + $0 }
    }

    private static let departures = ["meta", "marks", "gone"].map { Array(":\($0)".utf8) }

    /// The key with the id of the distinct conversation of the people that `hash` stands for.
    func distinct(_ hash: String) -> [UInt8] { prefix + Array("distinct:\(hash)".utf8) }

    /// Escapes the id: a closing brace in it would end the part that decides the slot.
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

    /// The topic of a channel that `channel(of:)` named.
    func topic(ofChannel channel: [UInt8]) -> RedisTopic? {
        guard channel.starts(with: prefix), channel.count >= prefix.count + ending.count + 2 else {
            return nil
        }
        let name = channel[prefix.count..<(channel.count - ending.count)]
        if name.first == UInt8(ascii: "{") {
            return .conversation(conversation(named: name).id)
        }
        if channel.dropLast(ending.count).elementsEqual(disconnects) { return .disconnects }
        if channel.dropLast(ending.count).elementsEqual(presences) { return .presence }
        guard channel.starts(with: users) else { return nil }
        return .list(String(decoding: name.dropFirst(users.count - prefix.count), as: UTF8.self).id)
    }

    /// A key that lies at one server, to address that server.
    func anchor(_ name: String) -> [UInt8] { prefix + Array(name.utf8) }

    /// The conversation that a key belongs to.
    func conversation(ofKey key: [UInt8]) -> String {
        let name = key.dropFirst(prefix.count)
        let end = name.lastIndex(of: UInt8(ascii: "}")) ?? name.startIndex
        return conversation(named: name[...end])
    }

    /// The id in the braces.
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
