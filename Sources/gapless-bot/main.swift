import GaplessClient

/// A bot: it answers in each conversation that it takes part in, also what was said while it was
/// not connected. Arguments: the gateway's URL, and a file in which it keeps what it has not sent.
let arguments = CommandLine.arguments.dropFirst()
var options = ChatClient.Options()
options.store = arguments.dropFirst().first
let url = arguments.first ?? "ws://127.0.0.1:8000/v1/ws"
let client = try ChatClient(url: url, options: options) { _ in .user("bot") }

@Sendable func answer(to text: String) -> String? {
    if text == "!ping" { return "pong" }
    return text.hasPrefix("!echo ") ? String(text.dropFirst(6)) : nil
}

@Sendable func serve(_ conversation: Conversation) async throws {
    let place = conversation.lastReadSeq ?? 0
    for try await message in client.everyMessage(in: conversation.id, after: place)
    where message.author != "bot" {
        guard let text = message.body.flatMap(answer) else { continue }
        // Of the id of the question, so that it is answered once.
        client.send(text, to: conversation.id, id: "re-\(message.id)")
    }
}

client.connect()
var served: Set<String> = []
client.subscribeConversations { _, news in
    for conversation in news.list where served.insert(conversation.id).inserted {
        Task { try await serve(conversation) }
    }
}
for await state in client.connectionStates() { print(state) }
