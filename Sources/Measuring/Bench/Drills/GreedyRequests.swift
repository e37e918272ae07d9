import JSON

/// Makes the requests of the greedy clients.
struct GreedyRequests {
    private let larder: Larder
    private var chance: Generator
    private var serial = 0
    private let run: Int
    private var runs: [Int: [UInt8]] = [:]
    /// The conversations that they created.
    private(set) var made: Set<String> = []

    init(_ larder: Larder, seed: Int) {
        self.larder = larder
        chance = Generator(seed: seed ^ 0x5EED)
        run = Int.random(in: 0..<1 << 40)
    }

    /// One request, with the frames that precede it.
    /// - Parameter size: 0 is tiny, 1 some, 2 huge.
    mutating func frames(_ greed: Greed, _ size: Int, id: Int) -> [UInt8] {
        serial += 1
        switch greed {
        case .garbage:
            // Each is answered with an error, under the id 0.
            let depth = [10, 1000, 20_000][size]
            return Frame.masked(
                Frame.Opcode.text, Array(repeating: UInt8(ascii: "["), count: depth))
        case .pings:
            let ping = Frame.masked(
                Frame.Opcode.ping, Array(repeating: 1, count: [0, 60, 125][size]))
            let pings = Array(repeating: ping, count: 20).flatMap { $0 }
            return pings + Frame.masked(Frame.Opcode.text, text(.markers, 0, id))
        case .creations:
            let create = Frame.masked(Frame.Opcode.text, text(greed, size, id))
            let name = madeName(serial)
            guard serial % 2 == 0 else { return create }
            // And deletes it at once.
            return create
                + Frame.masked(
                    Frame.Opcode.text,
                    Request.request(id + Self.further, "deleteConversation") {
                        $0.member("conversation", string: name)
                    })
        default: return Frame.masked(Frame.Opcode.text, text(greed, size, id))
        }
    }

    /// The distance between the ids of two requests that are sent as one.
    private static let further = 1_000_000_000

    private func madeName(_ number: Int) -> String { "\(larder.prefix)made-\(run)-\(number)" }

    private func count(_ size: Int) -> Int { [1, 100, 1000][size] }

    private mutating func place(_ count: Int) -> Int { Int.random(in: 1...count, using: &chance) }

    private mutating func text(_ greed: Greed, _ size: Int, _ id: Int) -> [UInt8] {
        switch greed {
        case .pages, .largePages, .lists, .listChanges, .people, .record, .resumes, .boundaries,
            .subscriptions:
            reading(greed, size, id)
        default: writing(greed, size, id)
        }
    }

    // MARK: - Reading

    private mutating func reading(_ greed: Greed, _ size: Int, _ id: Int) -> [UInt8] {
        let (larder, count) = (larder, count(size))
        switch greed {
        case .pages:
            let anchor = ["before", "after", "around"].randomElement(using: &chance) ?? "before"
            let place = place(Larder.messages)
            return Request.request(id, "fetchMessages") {
                $0.member("conversation", string: larder.deep)
                $0.member(anchor, int: place)
                $0.member("limit", int: count)
            }
        case .largePages:
            let place = place(Larder.largeMessages)
            return Request.fetchMessages(
                id: id, conversation: larder.large, before: place, limit: count)
        case .lists:
            return Request.request(id, "fetchConversations") { $0.member("limit", int: count) }
        case .listChanges:
            return Request.request(id, "subscribeConversations") { $0.member("limit", int: count) }
        case .people:
            return Request.request(id, "fetchParticipants") {
                $0.member("conversation", string: larder.crowded)
                $0.member("limit", int: size == 2 ? 0 : count)
            }
        case .record:
            return Request.request(id, "fetchConversation") {
                $0.member("conversation", string: larder.crowded)
            }
        case .subscriptions:
            let name = size == 2 ? larder.large : larder.prefix + "list-\(place(Larder.lists) - 1)"
            return Request.subscribe(id: id, conversation: name, limit: count)
        default:
            let have = have(runs: [5, 400, 1000][size])
            guard greed == .boundaries else {
                return Request.subscribe(
                    id: id, conversation: larder.deep, limit: count, have: have)
            }
            return Request.request(id, "findBoundaries") {
                $0.member("conversation", string: larder.deep)
                $0.member("have", raw: have)
            }
        }
    }

    /// Different each time, so that no answer is shared or cached.
    private mutating func have(runs count: Int) -> [UInt8] {
        let asOf = place(larder.rev)
        if runs[count] == nil {
            let words = (0..<count).map { "[\(2 * $0 + 1),\(2 * $0 + 1)]" }
            runs[count] = Array("[\(words.joined(separator: ","))]}".utf8)
        }
        return Array(#"{"head":"#.utf8) + larder.head + Array(#","asOf":\#(asOf),"runs":"#.utf8)
            + (runs[count] ?? [])
    }

    // MARK: - Writing

    /// Made once: the clients share their cores with the gateway, and to repeat a letter 30,000
    /// times takes longer than to send the message to fifty readers.
    private static let bodies = [1, 1000, 30_000].map { String(repeating: "b", count: $0) }
    private static let longTitle = String(repeating: "b", count: 20_000)

    private mutating func writing(_ greed: Greed, _ size: Int, _ id: Int) -> [UInt8] {
        let (larder, serial) = (larder, serial)
        let body = Self.bodies[size]
        switch greed {
        case .messages:
            return Request.request(id, "sendMessage") {
                $0.member("conversation", string: larder.loud)
                $0.member("body", string: body)
            }
        case .fields:
            return Request.request(id, "sendMessage") {
                $0.member("conversation", string: larder.loud)
                for field in 0..<[1, 20, 100][size] { $0.member("field\(field)", int: serial) }
            }
        case .edits:
            // The first one does not exist yet, so it is sent.
            let message = "\(run)-\(serial / 8)"
            return serial % 8 == 0
                ? Request.sendMessage(
                    id: id, conversation: larder.loud, message: message, body: body)
                : Request.editMessage(
                    id: id, conversation: larder.loud, message: message, body: body + "\(serial)")
        case .titles:
            return Request.request(id, "updateConversation") {
                $0.member("conversation", string: larder.crowded)
                let title = size == 2 ? Self.longTitle : body
                $0.member("title", string: title + "\(serial)")
            }
        case .markers:
            return Request.request(id, "markRead") {
                $0.member("conversation", string: larder.deep)
                $0.member("seq", int: serial % Larder.messages)
            }
        case .typing:
            return Request.request(id, "typing") {
                $0.member("conversation", string: larder.loud)
                $0.member("state", string: "begin")
            }
        default: return people(greed, size, id)
        }
    }

    private static let counts = [1, 100, 4000]
    /// Made once, as the bodies are. The gateway refuses 4,000 people for their number alone.
    private static let crowd = list("q10000-", counts[2])
    /// At most as many as there is room for.
    private static let joining = counts.map { list("joins-", min(900, $0)) }

    private mutating func people(_ greed: Greed, _ size: Int, _ id: Int) -> [UInt8] {
        guard greed == .joining else {
            let first = greed == .distinct ? place(10) : serial
            let name = madeName(first)
            made.insert(name)
            let people = size == 2 ? Self.crowd : Self.list("q\(first)-", Self.counts[size])
            return Request.request(id, "createConversation") {
                $0.member("id", string: name)
                $0.member("participants", raw: people)
                if greed == .distinct { $0.member("distinct", bool: true) }
            }
        }
        let (larder, serial) = (larder, serial)
        return Request.request(id, serial % 2 == 1 ? "addParticipants" : "removeParticipants") {
            $0.member("conversation", string: larder.crowded)
            $0.member("users", raw: Self.joining[size])
        }
    }

    /// A list of users whose names begin so.
    private static func list(_ beginning: String, _ count: Int) -> [UInt8] {
        var json = JSONWriter()
        json.beginArray()
        for number in 0..<count { json.string("\(beginning)\(number)") }
        json.endArray()
        return json.bytes
    }
}
