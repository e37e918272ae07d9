import Glibc
import TestSupport

/// A backend that writes the lines of real conversations by way of one gateway, edits and deletes
/// some, and makes each call again until it is answered: by its id a message stays one. Of each
/// message the content changes at most once, so that a call that arrives late changes nothing.
struct LineWriter {
    private let api: ServerAPI
    private let name: String
    private let ledger: Ledger
    private let lines: [ChatLog.Line]
    private let conversations: [String]
    private let stop: Background<[String: Truth]>.Stop
    /// Whether it has people join: two who do would not learn each of the records between.
    private let admits: Bool
    /// Whether the origin may lose what it acknowledged.
    private let expectsLosses: Bool
    private var random: SplitMix64
    /// Own messages as they were sent.
    private var living: [(conversation: String, id: String)] = []
    private var count = 0

    /// Microseconds between two calls.
    private static let pause: UInt32 = 30_000

    /// Starts one on a thread of its own.
    static func start(
        _ name: String, port: Int, lines: [ChatLog.Line], conversations: [String],
        ledger: Ledger, seed: UInt64, admits: Bool, expectsLosses: Bool = false
    ) -> Background<[String: Truth]> {
        Background { stop in
            var writer = LineWriter(
                api: ServerAPI(
                    port: port, apiKey: GatewayProcess.apiKey, learnsWrites: !expectsLosses),
                name: name, ledger: ledger, lines: lines, conversations: conversations,
                stop: stop, admits: admits, expectsLosses: expectsLosses,
                random: SplitMix64(seed: seed))
            for conversation in conversations {
                try writer.insist { _ = try $0.learnChanges(of: conversation) }
            }
            while !stop.isOver {
                try writer.write()
                usleep(pause)
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
        } else if dice < 22, admits, let conversation = conversations.randomElement(using: &random)
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
    }

    private func change(_ id: String, in conversation: String, deletes: Bool) throws {
        do {
            let stored = try insist { api in
                deletes
                    ? try api.delete(id, in: conversation)
                    : try api.edit(id, in: conversation, ["body": .string("\(name) edits \(id)")])
            }
            ledger.note(conversation, stored)
        } catch let error as ServerAPI.Refused where error.code == "not_found" && expectsLosses {
            // The message was lost.
        }
    }

    /// Somebody new takes part: slot 0 changes.
    private mutating func join(_ conversation: String) throws {
        count += 1
        let user = "\(name)-guest-\(count)"
        try insist { try $0.add(user, to: conversation) }
    }

    /// Makes the call until it is answered, also by a gateway that is not there for a while.
    ///
    /// - Throws: `Refused`, where the answer is another one than that the origin can't be reached;
    ///   the last failure, where the run is over.
    @discardableResult
    private func insist<Answer>(_ call: (ServerAPI) throws -> Answer) throws -> Answer {
        let deadline = Deadline.after(.seconds(60))
        while true {
            do {
                return try call(api)
            } catch let error as ServerAPI.Refused {
                guard error.code == "origin_unavailable", !deadline.isOver else { throw error }
            } catch let error as TestFailure {
                guard !deadline.isOver else { throw error }
            }
            ledger.noteRefusal()
            usleep(20_000)
        }
    }
}
