import JSON

/// The requests of clients that stay within every limit and try to cost as much as possible.
enum Greed: String, CaseIterable, Sendable {
    /// Reading: pages of many small messages, and of few large ones; lists; all participants; a
    /// resume with the maximum number of runs.
    case pages, largePages, lists, listChanges, people, record, resumes, boundaries, subscriptions
    /// Writing: messages to many of their own connections, large messages, and ones with many
    /// fields; edits; conversations with thousands of participants, and the same users added and
    /// removed.
    case messages, fields, edits, creations, distinct, titles, joining, markers, typing
    /// Neither: invalid requests, pings, connections that come and go.
    case garbage, pings, churn
}

/// The greedy clients of one seed: everything that is drawn at random before they connect.
struct Appetite: Sendable {
    let seed: Int
    let users: Int
    let connections: Int
    /// The most requests in flight per connection.
    let window: Int
    /// Whether it obeys the `after` of a `rate_limited`, or sends on.
    let obeys: Bool
    /// The kinds of requests, with size and relative frequency.
    let greeds: [(greed: Greed, size: Int, weight: Int)]

    init(seed: Int) {
        var chance = Generator(seed: seed)
        self.seed = seed
        users = [1, 1, 2, 4, 8].randomElement(using: &chance) ?? 1
        connections = [1, 2, 5, 12].randomElement(using: &chance) ?? 1
        window = [1, 8, 64].randomElement(using: &chance) ?? 1
        obeys = Bool.random(using: &chance)
        let kinds = Greed.allCases.shuffled(using: &chance).prefix(
            Int.random(in: 1...3, using: &chance))
        greeds = kinds.map {
            ($0, Int.random(in: 0...2, using: &chance), Int.random(in: 1...3, using: &chance))
        }
    }

    var text: String {
        let words = greeds.map { "\($0.greed.rawValue) \(["tiny", "some", "huge"][$0.size])" }
        return "\(users) users with \(connections) connections, \(window) at a time,"
            + " \(obeys ? "obeying" : "pressing"): \(words.joined(separator: ", "))"
    }

    func pick(_ chance: inout Generator) -> (greed: Greed, size: Int) {
        var at = Int.random(in: 0..<greeds.reduce(0) { $0 + $1.weight }, using: &chance)
        for (greed, size, weight) in greeds {
            if at < weight { return (greed, size) }
            at -= weight
        }
        return (greeds[0].greed, greeds[0].size)
    }
}

/// The data for the greedy clients: conversations in which they take part.
struct Larder: Sendable {
    static let users = 8
    static let messages = 2000
    static let largeMessages = 200
    static let lists = 300
    static let people = 9000

    let prefix: String
    /// With many small messages, with large ones, with many participants, and one to which all
    /// their connections subscribe.
    var deep: String { prefix + "deep" }
    var large: String { prefix + "large" }
    var crowded: String { prefix + "crowded" }
    var loud: String { prefix + "loud" }
    let head: [UInt8]
    let rev: Int

    static func user(_ index: Int) -> String { "greedy-\(index)" }

    /// - Throws: `BenchError.failure`
    init(_ prefix: String, _ api: ServerAPI) throws(BenchError) {
        self.prefix = prefix
        let greedy = (0..<Self.users).map(Self.user)
        let names = ["deep", "large", "loud"] + (0..<Self.lists).map { "list-\($0)" }
        for name in names { try api.create(prefix + name, participants: greedy) }
        let people = (0..<Self.people).map { "person-\($0)" }
        try api.create(prefix + "crowded", participants: greedy + people)
        try api.post(
            Self.messages, to: prefix + "deep", body: "forty bytes of text in each message")
        let large = String(repeating: "large ", count: 3500)
        try api.post(Self.largeMessages, to: prefix + "large", body: large)
        let head = try api.head(of: prefix + "deep")
        self.head = head.bytes
        rev = head.object?["rev"]?.int ?? 1
    }

    /// Deletes the conversations that are known by name.
    /// - Throws: `BenchError.failure`
    func clear(_ api: ServerAPI) throws(BenchError) {
        let names = ["deep", "large", "loud", "crowded"] + (0..<Self.lists).map { "list-\($0)" }
        for name in names { try api.delete(prefix + name) }
    }
}
