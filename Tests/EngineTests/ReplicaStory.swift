import Chat
import Engine
import Ports
import Simulation
import Wire

/// How the stories of a gateway begin whose log lives elsewhere: a conversation of Ann and Ben with
/// some messages, and Ann, who is `client 0`, connected. Every frame of a story is judged by the
/// oracle of the simulation, so that what a test expects comes on top.
enum ReplicaStory {
    static func begin(
        messages: Int, gateways: Int = 1, limits: Limits = Limits(), socket: Int = 1 << 30,
        isRinging: Bool = false, _ options: (inout SyncOptions) -> Void = { _ in }
    ) throws -> ReplicaWorld {
        var sync = SyncOptions()
        options(&sync)
        let world = ReplicaWorld(
            ["ann", "ben"], gateways: gateways, sync: sync, limits: limits, socket: socket,
            isRinging: isRinging)
        try world.pass()
        try world.write(.put(id: "c1", .init(participants: ["ann", "ben"])))
        try world.say(messages)
        try world.join(0)
        return world
    }
}

extension [HistoryQuery] {
    /// Questions for messages or changes.
    var reads: Int {
        count {
            switch $0.bare {
            case .page, .changes: true
            case .conversation, .conversations, .conversationsSince, .listed, .message, .heads,
                .participants, .reactions, .ownReactions, .mentions, .provided:
                false
            }
        }
    }

    var changes: Int { count { if case .changes = $0.bare { true } else { false } } }
}
