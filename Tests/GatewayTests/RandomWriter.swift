import Glibc
import TestSupport

/// A backend that writes messages into conversations at random, one call after the other: arrays
/// and single ones, edits and deletes of its own. What was acknowledged stands in its API's
/// truths. One thread's; several of them write beside each other.
struct RandomWriter {
    /// What it writes.
    struct Habit: Sendable {
        var longestArray = 20
        var bodies = 1...200
        /// Of a hundred calls.
        var edits = 15
        var deletes = 5
        /// Microseconds between two calls: the readers in the test's process, which is built for
        /// debugging, are to keep up with the program.
        var pause: UInt32 = 3000
    }

    let api: ServerAPI
    let author: String
    let conversations: [String]
    let habit: Habit
    private var random: SplitMix64
    /// Own messages that are not deleted.
    private var living: [(conversation: String, id: String)] = []
    private var count = 0

    init(
        port: Int, author: String, conversations: [String], habit: Habit = Habit(), seed: UInt64
    ) {
        api = ServerAPI(port: port, apiKey: GatewayProcess.apiKey)
        self.author = author
        self.conversations = conversations
        self.habit = habit
        random = SplitMix64(seed: seed)
    }

    /// Makes one call.
    ///
    /// - Throws: what `ServerAPI` throws.
    mutating func write() throws {
        let dice = Int.random(in: 0..<100, using: &random)
        guard dice < habit.edits + habit.deletes,
            let place = living.indices.randomElement(using: &random)
        else { return try insert() }
        let (conversation, id) = living[place]
        if dice < habit.edits {
            try api.edit(id, in: conversation, ["body": .string(body())])
        } else {
            try api.delete(id, in: conversation)
            living.swapAt(place, living.count - 1)
            living.removeLast()
        }
    }

    private mutating func insert() throws {
        guard let conversation = conversations.randomElement(using: &random) else { return }
        let isArray = random.happens(40)
        let size = isArray ? Int.random(in: 1...habit.longestArray, using: &random) : 1
        var messages: [JSONValue] = []
        for _ in 0..<size {
            count += 1
            let id = "\(author)-\(count)"
            messages.append([
                "id": .string(id), "author": .string(author), "body": .string(body()),
            ])
        }
        if isArray {
            try api.post(messages, to: conversation)
        } else {
            try api.post(messages[0], to: conversation)
        }
        living += messages.map { (conversation, $0["id"].string ?? "") }
    }

    private mutating func body() -> String {
        let words = "\(random.next()) "
        let size = Int.random(in: habit.bodies, using: &random)
        return String(repeating: words, count: size / words.utf8.count + 1)
    }
}

extension RandomWriter {
    /// Writers that write until they are asked to end, each on a thread of its own.
    ///
    /// - Parameter calls: the most that each of them makes.
    /// - Returns: What each of them wrote, by conversation.
    static func start(
        _ count: Int, port: Int, conversations: [String], habit: Habit = Habit(), seed: UInt64,
        calls: Int = .max
    ) -> [Background<[String: Truth]>] {
        (0..<count).map { place in
            Background { stop in
                var writer = RandomWriter(
                    port: port, author: "writer-\(place)", conversations: conversations,
                    habit: habit, seed: seed &+ UInt64(place))
                var made = 0
                while !stop.isOver, made < calls {
                    try writer.write()
                    made += 1
                    usleep(habit.pause)
                }
                return writer.api.truths
            }
        }
    }
}
