import GaplessClient
import GaplessTesting

#if canImport(SwiftUI)
import SwiftUI
#endif

// What the catalogue of `Sources/GaplessClient/GaplessClient.docc` shows, compiled. `SnippetTests`
// holds both to the same lines.

func makeClient(store: String?) throws -> ChatClient {
    var options = ChatClient.Options()
    options.store = store
    return try ChatClient(url: "ws://127.0.0.1:8000/v1/ws", options: options) { _ in
        .user("alice")
    }
}

@MainActor
func describe(_ model: ConversationModel) -> [String] {
    model.rows.map { row in
        switch row.content {
        case .message(let message, let isHeld):
            "\(message.author): \(message.body ?? "deleted")\(isHeld ? "" : " …")"
        case .gap(let missing):
            "\(missing) messages are missing"
        }
    }
}

#if canImport(SwiftUI)
struct ConversationView: View {
    @State var model: ConversationModel
    @State private var text = ""

    var body: some View {
        List(model.rows) { row in
            switch row.content {
            case .message(let message, _):
                Text("\(message.author): \(message.body ?? "deleted")")
            case .gap(let missing):
                Text("\(missing) messages are missing")
            }
        }
        .onAppear { model.online() }
        .onDisappear { model.offline() }
        TextField("Message", text: $text).onSubmit {
            model.send(text)
            text = ""
        }
    }
}
#endif

func follow(_ client: ChatClient, _ conversation: String) async {
    var list = MessageWindow(conversation: conversation)
    for await update in client.subscribeMessages(conversation: conversation) {
        _ = list.take(update)
        print("\(list.timeline.count) messages, \(list.gaps.count) gaps")
    }
}

@MainActor
func anOutageOfAnHour() async throws -> [String] {
    let gateway = TestGateway()
    gateway.open("ops", participants: ["alice", "bob"])
    let client = try gateway.client("alice")
    await gateway.connected(client)
    let model = ConversationModel(client, conversation: "ops", reader: "alice")
    model.online()

    gateway.isReachable = false
    gateway.write("disk is full", by: "bob", in: "ops")
    await gateway.advance(by: .seconds(3600))
    gateway.isReachable = true
    await gateway.advance(by: .seconds(30))

    while model.rows.isEmpty { await Task.yield() }
    return describe(model)
}
