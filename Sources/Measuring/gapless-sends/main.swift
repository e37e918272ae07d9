import Cache
import Dispatch
import Ports
import SQLite
import Upstream
import Wire

// What the embedded log itself costs: messages that come alone, to one of many small rooms each,
// and each after the answer to the last, with no socket and no engine around it. For tools that
// count, such as callgrind, which toggle their counting at `measured`:
//
//     gapless-sends DIRECTORY [messages [rooms [bytes of a body]]]

/// The rooms' file and log.
private final class Rooms {
    private let embedded: Embedded
    private let body: String
    private let rooms: Int
    private var sent = 0
    private let answers = DispatchSemaphore(value: 0)

    init(_ directory: String, rooms: Int, bytes: Int) throws {
        SQLiteLibrary.keepNoMemoryStatistics()
        let store = try Store(
            Store.Options(path: directory + "/sends.db", origin: Embedded.kind))
        var pace = WriterPace(isOnOneCore: true)
        pace.prompt = .seconds(60)
        embedded = try Embedded(store, pace: pace)
        self.rooms = rooms
        body = String(repeating: "x", count: bytes)
        let answers = answers
        embedded.start { outputs in
            for case .performed(_, let result) in outputs {
                if case .failure(let error) = result { preconditionFailure("\(error)") }
                answers.signal()
            }
        }
        for room in 0..<rooms {
            let people = (0..<10).map { "user-\(room)-\($0)" }
            perform(
                .put(id: "room-\(room)", ConversationFields(participants: people)), by: .server)
        }
    }

    private func perform(_ operation: Operation, by caller: Caller) {
        embedded.submit([.perform(operation, by: caller, token: 1)])
        answers.wait()
    }

    func send(_ messages: Int) {
        for _ in 0..<messages {
            let (room, turn) = (sent % rooms, sent / rooms)
            let author = "user-\(room)-\(turn % 10)"
            // Of the form that clients make.
            let id = "\(author)-\(sent &* 0x9E37_79B9 % 0xFFFF_FFFF)-\(turn)"
            let message = NewMessage(author: author, content: MessageContent(id: id, body: body))
            perform(.send(conversation: "room-\(room)", [message]), by: .user(author))
            sent += 1
        }
    }

    func stop() { embedded.stop() }
}

@inline(never)
private func measured(_ rooms: Rooms, _ messages: Int) { rooms.send(messages) }

private func number(_ place: Int, _ otherwise: Int) -> Int {
    CommandLine.arguments.count > place
        ? Int(CommandLine.arguments[place]) ?? otherwise : otherwise
}

private func run() throws {
    let (messages, count) = (number(2, 3_200), number(3, 100))
    let rooms = try Rooms(CommandLine.arguments[1], rooms: count, bytes: number(4, 330))
    // Whole tails, so that what is counted has as many folds as messages in the long run.
    rooms.send(32 * count)
    measured(rooms, messages)
    rooms.stop()
}

try run()
