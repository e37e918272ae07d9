import Glibc

/// A backend that writes the lines of real conversations by way of one gateway, edits and deletes
/// some, and makes each call again until it is answered: by its id a message stays one. Of each
/// message the content changes at most once, so that a call that arrives late changes nothing.
package struct LineWriter {
    /// What it writes, and what it may meet.
    package struct Habit: Sendable {
        /// Whether it has people join: two who do would not learn each of the records between.
        package var admits = false
        /// Whether the origin may lose what it acknowledged.
        package var expectsLosses = false
        /// How many messages of a conversation the origin keeps; nil for all.
        package var kept: Int?
        /// Whether what it was told of is kept, for `Background.join`.
        package var remembers = true
        /// Microseconds between two calls.
        package var pause: UInt32 = 30_000
        /// How many of its messages it may still change: those that the origin is sure to have.
        package var recent = Int.max

        package init() {}
    }

    private let api: ServerAPI
    private let name: String
    private let ledger: Ledger
    private let lines: [ChatLog.Line]
    private let conversations: [String]
    private let stop: Background<[String: Truth]>.Stop
    private let habit: Habit
    private var random: SplitMix64
    /// Own messages as they were sent.
    private var living: [(conversation: String, id: String)] = []
    private var count = 0

    /// Starts one on a thread of its own.
    package static func start(
        _ name: String, port: Int, lines: [ChatLog.Line], conversations: [String],
        ledger: Ledger, seed: UInt64, habit: Habit
    ) -> Background<[String: Truth]> {
        Background { stop in
            var writer = LineWriter(
                api: ServerAPI(
                    port: port, apiKey: GatewayProcess.apiKey,
                    learnsWrites: habit.remembers && !habit.expectsLosses),
                name: name, ledger: ledger, lines: lines, conversations: conversations,
                stop: stop, habit: habit, random: SplitMix64(seed: seed))
            for conversation in conversations {
                try writer.insist { _ = try $0.learnChanges(of: conversation) }
            }
            while !stop.isOver {
                try writer.write()
                usleep(habit.pause)
            }
            return writer.api.truths
        }
    }

    private mutating func write() throws {
        let dice = Int.random(in: 0..<100, using: &random)
        if dice < 20, let place = living.indices.randomElement(using: &random) {
            let (conversation, id) = living[place]
            living.swapAt(place, living.count - 1)
            living.removeLast()
            try change(id, in: conversation, deletes: dice < 6)
        } else if dice < 22, habit.admits,
            let conversation = conversations.randomElement(using: &random)
        {
            try join(conversation)
        } else {
            try say(many: dice > 90 ? 5 : 1)
        }
    }

    private mutating func say(many: Int) throws {
        let conversation = conversations[count % conversations.count]
        let messages = (0..<many).map { _ -> JSONValue in
            count += 1
            let line = lines[count % lines.count]
            return [
                "id": .string("\(name)-\(count)"),
                "author": .string(String(decoding: line.author, as: UTF8.self)),
                "body": .string(String(decoding: line.text, as: UTF8.self)),
            ]
        }
        let stored = try insist { api in
            many == 1
                ? [try api.post(messages[0], to: conversation)]
                : try api.post(messages, to: conversation)
        }
        for message in stored { ledger.note(conversation, message) }
        living += messages.map { (conversation, $0["id"].string ?? "") }
        if living.count > habit.recent { living.removeFirst(living.count - habit.recent) }
    }

    private func change(_ id: String, in conversation: String, deletes: Bool) throws {
        do {
            let stored = try insist { api in
                deletes
                    ? try api.delete(id, in: conversation)
                    : try api.edit(id, in: conversation, ["body": .string("\(name) edits \(id)")])
            }
            ledger.note(conversation, stored)
        } catch let error as ServerAPI.Refused
            where error.code == "not_found"
            && (habit.expectsLosses || isTrimmed(id, of: conversation))
        {
            // The message was lost, or so much was said since that the origin has it no longer.
        }
    }

    /// Whether as many messages are newer as the origin keeps, but for some that others sent just
    /// now and have not noted.
    private func isTrimmed(_ id: String, of conversation: String) -> Bool {
        guard let kept = habit.kept else { return false }
        let entries = ledger.all(conversation)
        let seq = entries.last { $0.message["id"].string == id }?.seq ?? 0
        return (entries.map(\.seq).max() ?? 0) - seq >= kept - 50
    }

    /// Somebody new takes part: slot 0 changes.
    private mutating func join(_ conversation: String) throws {
        count += 1
        let user = "\(name)-guest-\(count)"
        try insist { try $0.add(user, to: conversation) }
    }

    @discardableResult
    private func insist<Answer>(_ call: (ServerAPI) throws -> Answer) throws -> Answer {
        try ServerAPI.insist(onRefusal: ledger.noteRefusal) { try call(api) }
    }
}
