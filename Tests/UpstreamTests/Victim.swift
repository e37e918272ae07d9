import Cache
import Dispatch
import FoundationEssentials
import Glibc
import Ports
import Upstream
import Wire

/// What runs in the process that is killed.
struct Victim {
    let directory: String
    let round: Int

    init(_ directory: String, _ round: Int) {
        self.directory = directory
        self.round = round
    }

    static func options(_ directory: String, isChecked: Bool = false) -> Store.Options {
        Store.Options(
            path: directory + "/gapless.db", origin: Embedded.kind, isChecked: isChecked,
            wait: .seconds(10))
    }

    /// What ends a note. The kill may cut a long write of notes, and the next life appends to it.
    private static let end = ".\n"

    /// The ids in the notes, without those that were cut.
    static func noted(in directory: String) throws -> [String] {
        try String(contentsOfFile: directory + "/noted", encoding: .utf8)
            .split(separator: "\n").filter { $0.hasSuffix(".") && $0.count { $0 == "r" } == 1 }
            .map { String($0.dropLast()) }
    }

    func run() throws {
        let embedded = try Embedded(try Store(Self.options(directory)))
        let noted = open(directory + "/noted", O_WRONLY | O_CREAT | O_APPEND, 0o644)
        let acknowledged = DispatchSemaphore(value: 0)
        let round = round
        embedded.start { outputs in
            var lines = ""
            for case .performed(let token, .success) in outputs where token > 0 {
                lines += "r\(round)-\(token)\(Self.end)"
            }
            lines.withUTF8 { _ = write(noted, $0.baseAddress, $0.count) }
            if !lines.isEmpty { acknowledged.signal() }
        }
        let put = Operation.put(id: "c1", ConversationFields(participants: ["a"]))
        embedded.submit([.perform(put, by: .server, token: 0)])
        DispatchQueue.global().async {
            for token in UInt64(1)... {
                let content = MessageContent(id: "r\(round)-\(token)", body: "message \(token)")
                let send = Operation.send(
                    conversation: "c1", [NewMessage(author: "a", content: content)])
                embedded.submit([.perform(send, by: .server, token: token)])
                if token % 50 == 0 { usleep(1_000) }
            }
        }
        // Some acknowledgements in, at any moment between two instructions.
        for _ in 0..<Int.random(in: 1...20) { acknowledged.wait() }
        usleep(UInt32.random(in: 0...20_000))
        kill(getpid(), SIGKILL)
    }
}
