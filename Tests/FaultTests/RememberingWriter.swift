import Glibc
import Synchronization
import TestSupport

/// A writer that remembers what it was told was done, over all lives of a gateway, and asks for
/// everything else again until it is told: by its id a message stays one.
struct RememberingWriter: Sendable {
    enum Way: Sendable { case webSocket, serverAPI }

    /// A message as the last acknowledgement had it.
    struct Told {
        let id: String
        var message: JSONValue
    }

    /// What was asked for and is not acknowledged.
    enum Call {
        case send([JSONValue])
        case edit(at: Int)
        case delete(at: Int)
    }

    let name: String
    let conversation: String
    let way: Way
    /// Microseconds between two calls.
    var pause: UInt32 = 0
    /// The process to kill, and behind how many acknowledgements.
    var execution: (process: pid_t, countdown: Int)?
    /// Counts for the test that waits for this writer.
    let counts = Counts()
    /// How the writer saw that the process no longer answers.
    private(set) var lostGateway: String?
    private(set) var underWay: Call?
    private(set) var told: [Told] = []
    /// Every acknowledged value, also of messages that have changed since.
    private(set) var values: [JSONValue] = []
    private var count = 0

    final class Counts: Sendable {
        private let done = Atomic<Int>(0)
        private let refusals = Atomic<Int>(0)

        var acknowledged: Int { done.load(ordering: .relaxed) }
        var refused: Int { refusals.load(ordering: .relaxed) }

        fileprivate func noteAcknowledged() { done.add(1, ordering: .relaxed) }
        fileprivate func noteRefused() { refusals.add(1, ordering: .relaxed) }
    }

    init(_ name: String, in conversation: String, by way: Way, pause: UInt32 = 0) {
        self.name = name
        self.conversation = conversation
        self.way = way
        self.pause = pause
    }

    /// Begins on a thread of its own, and goes on until it is ended or the gateway is gone.
    func start(port: Int, seed: UInt64) -> Background<RememberingWriter> {
        Background { stop in
            var writer = self
            try writer.run(port, seed, stop)
            return writer
        }
    }

    // MARK: - Writing

    private enum Link {
        case webSocket(ChatTestClient)
        case serverAPI(ServerAPI)
    }

    /// - Throws: what is neither a refusal that may be tried again nor the end of the gateway.
    private mutating func run(
        _ port: Int, _ seed: UInt64, _ stop: Background<RememberingWriter>.Stop
    ) throws {
        var random = SplitMix64(seed: seed)
        lostGateway = nil
        do {
            let link = try link(port)
            while !stop.isOver {
                let call = underWay ?? nextCall(&random)
                underWay = call
                guard let messages = try answer(to: call, link) else {
                    counts.noteRefused()
                    usleep(20_000)
                    continue
                }
                try acknowledged(call, messages)
                usleep(pause)
            }
        } catch let failure as TestFailure {
            lostGateway = "\(failure)"
        }
    }

    private func link(_ port: Int) throws -> Link {
        switch way {
        case .webSocket:
            let client = try ChatTestClient(port: port)
            try client.connect(user: name)
            return .webSocket(client)
        case .serverAPI:
            return .serverAPI(
                ServerAPI(port: port, apiKey: GatewayProcess.apiKey, learnsWrites: false))
        }
    }

    private mutating func nextCall(_ random: inout SplitMix64) -> Call {
        if let place = told.indices.randomElement(using: &random), random.happens(20),
            told[place].message["deleted"].bool != true
        {
            return random.happens(30) ? .delete(at: place) : .edit(at: place)
        }
        let isArray = way == .serverAPI && random.happens(50)
        return .send(
            (0..<(isArray ? Int.random(in: 2...10, using: &random) : 1)).map { _ in
                count += 1
                let more = String(repeating: "ö", count: Int.random(in: 0...400, using: &random))
                return [
                    "id": .string("\(name)-\(count)"), "author": .string(name),
                    "body": .string("\(name) says \(count) \(more)"),
                ]
            })
    }

    /// - Returns: nil where the origin can't write and says that it may be asked again.
    private func answer(to call: Call, _ link: Link) throws -> [JSONValue]? {
        do {
            switch link {
            case .webSocket(let client): return [try ask(client, call)]
            case .serverAPI(let api): return try ask(api, call)
            }
        } catch let error as ChatTestClient.RequestFailed {
            guard error.code == "origin_unavailable", error.retry == "later" else { throw error }
        } catch let error as ServerAPI.Refused {
            guard error.status == 503, error.code == "origin_unavailable", error.retry == "later"
            else { throw error }
        }
        return nil
    }

    private func ask(_ client: ChatTestClient, _ call: Call) throws -> JSONValue {
        var params: JSONValue = ["conversation": .string(conversation)]
        switch call {
        case .send(let messages):
            params["id"] = messages[0]["id"]
            params["body"] = messages[0]["body"]
            return try client.request("sendMessage", params)["message"]
        case .edit(let place):
            params["id"] = .string(told[place].id)
            params["body"] = .string(edited(place))
            return try client.request("editMessage", params)["message"]
        case .delete(let place):
            params["id"] = .string(told[place].id)
            return try client.request("deleteMessage", params)["message"]
        }
    }

    private func ask(_ api: ServerAPI, _ call: Call) throws -> [JSONValue] {
        switch call {
        case .send(let messages) where messages.count == 1:
            [try api.post(messages[0], to: conversation)]
        case .send(let messages): try api.post(messages, to: conversation)
        case .edit(let place):
            [try api.edit(told[place].id, in: conversation, ["body": .string(edited(place))])]
        case .delete(let place): [try api.delete(told[place].id, in: conversation)]
        }
    }

    private func edited(_ place: Int) -> String { "\(name) edits \(told[place].id)" }

    private mutating func acknowledged(_ call: Call, _ messages: [JSONValue]) throws {
        underWay = nil
        if let (process, countdown) = execution {
            if countdown == 1 { kill(process, SIGKILL) }
            execution = countdown > 1 ? (process, countdown - 1) : nil
        }
        switch call {
        case .send(let sent):
            guard messages.map({ $0["body"] }) == sent.map({ $0["body"] }) else {
                throw Contradiction("\(name): what is acknowledged is not what was sent")
            }
            for message in messages {
                told.append(Told(id: message["id"].string ?? "", message: message))
            }
        case .edit(let place), .delete(let place):
            told[place].message = messages[0]
        }
        values += messages
        counts.noteAcknowledged()
    }

    /// Not a `TestFailure`: that one means here that the gateway is gone.
    private struct Contradiction: Error {
        let text: String

        init(_ text: String) { self.text = text }
    }

    // MARK: - Judgement

    /// What is wrong with a whole log, oldest first, as this writer knows it: what it was told was
    /// done is there once, in the order in which it was sent and as it was acknowledged, and what
    /// it was not told is there as a whole or not at all.
    func faults(in messages: [JSONValue]) -> [String] {
        let own = messages.filter { $0["author"].string == name }
        let ids = own.compactMap { $0["id"].string }
        let found = Dictionary(zip(ids, own)) { first, _ in first }
        guard found.count == own.count else { return ["\(name): a message is there twice"] }
        var faults: [String] = []
        let known = Set(told.map(\.id))
        if ids.filter(known.contains) != told.map(\.id) {
            let lost = told.filter { found[$0.id] == nil }.map(\.id)
            faults.append("\(name): lost or in another order; lost \(lost.prefix(5))")
        }
        for (place, told) in told.enumerated() {
            guard let stored = found[told.id], stored != told.message else { continue }
            if !isUnderWay(place, as: stored, after: told.message) {
                faults.append("\(name): \(told.id) is not as it was acknowledged")
            }
        }
        var sent: [JSONValue] = []
        if case .send(let messages) = underWay { sent = messages }
        let arrived = sent.filter { found[$0["id"].string ?? ""] != nil }
        if !arrived.isEmpty, arrived != sent { faults.append("\(name): half an array is there") }
        if own.count != told.count + arrived.count {
            faults.append("\(name): \(own.count) are there, told \(told.count) + \(arrived.count)")
        }
        return Array(faults.prefix(5))
    }

    /// Whether what is stored is the change that was asked for and not acknowledged.
    private func isUnderWay(_ place: Int, as stored: JSONValue, after told: JSONValue) -> Bool {
        guard (stored["rev"].int ?? 0) > (told["rev"].int ?? 0), stored["seq"] == told["seq"] else {
            return false
        }
        switch underWay {
        case .edit(at: place): return stored["body"].string == edited(place)
        case .delete(at: place): return stored["deleted"].bool == true
        default: return false
        }
    }

    /// Whether what was on its way is in the log.
    func isUnderWayThere(_ messages: [JSONValue]) -> Bool {
        guard case .send(let sent) = underWay else { return false }
        return messages.contains { $0["id"] == sent[0]["id"] }
    }
}
