import GaplessClient

/// The quick start of README.md: shows a conversation live, and what is missing of it.
let url = CommandLine.arguments.dropFirst().first ?? "ws://127.0.0.1:8000/v1/ws"
let client = try ChatClient(url: url) { _ in .user("alice") }
client.connect()
client.send("hello from Swift", to: "ops")

var list = MessageWindow(conversation: "ops", reader: "alice")
for await update in client.subscribeMessages(conversation: "ops") {
    _ = list.take(update)
    print("\(list.timeline.count) messages, \(list.timeline.gaps.count) gaps")
    for message in list.timeline.items.suffix(10) { print(message.author, message.body ?? "") }
}
