import GaplessClient

/// A bot: it answers in each conversation that it takes part in, also what was said while it was
/// not connected. Arguments: the gateway's URL, and a file in which it keeps where it stands.
let arguments = CommandLine.arguments.dropFirst()
var options = ChatClient.Options()
options.store = arguments.dropFirst().first
let url = arguments.first ?? "ws://127.0.0.1:8000/v1/ws"
let client = try ChatClient(url: url, options: options) { _ in .user("bot") }

@Sendable func answer(to text: String) -> String? {
    if text == "!ping" { return "pong" }
    return text.hasPrefix("!echo ") ? String(text.dropFirst(6)) : nil
}

@Sendable func serve(_ conversation: String) async {
    for await update in client.subscribeMessages(conversation: conversation) {
        guard let frame = update.frame else { continue }
        for delta in frame.deltas where delta.type == .inserted && delta.message.author != "bot" {
            if let text = delta.message.body.flatMap(answer) { client.send(text, to: conversation) }
        }
    }
}

client.connect()
var served: Set<String> = []
client.subscribeConversations { _, news in
    for conversation in news.list where served.insert(conversation.id).inserted {
        Task { await serve(conversation.id) }
    }
}
for await state in client.connectionStates() { print(state) }
