import Chat
import Engine
import Ports
import Simulation
import Testing
import Wire

/// The answer to a write whose event the feed of a log elsewhere has not brought yet: it goes out
/// behind that event, however long the event itself has to wait.
@Suite struct HeldReplyTests {
    private static let readers = ["ann", "ben", "cat", "dan", "eve"]

    /// A conversation whose events go to one of five readers a turn; Ann is client 0.
    private func crowd() throws -> ReplicaWorld {
        var limits = Limits()
        limits.writeSlice = .tiny
        let world = ReplicaWorld(Self.readers, limits: limits)
        try world.pass()
        try world.write(.put(id: "c1", .init(participants: Self.readers)))
        for reader in Self.readers.indices {
            try world.join(reader)
            try world.subscribe(reader)
        }
        return world
    }

    /// The frames that a client gets from here on.
    private func frames(of client: Int, in world: ReplicaWorld) -> Frames {
        let frames = Frames()
        world.trace = { line in
            if line.contains("client \(client) gets") { frames.note(line) }
        }
        return frames
    }

    /// What a client got, oldest first.
    private final class Frames {
        private var lines: [String] = []

        func note(_ line: String) { lines.append(line) }

        /// Whether the event with this text has come.
        func have(_ text: String) -> Bool { event(with: text) != nil }

        /// Whether a reply has come, and behind that event.
        func haveReply(behind text: String) -> Bool {
            guard let event = event(with: text),
                let reply = lines.firstIndex(where: { !$0.contains(#""event""#) })
            else { return false }
            return event < reply
        }

        private func event(with text: String) -> Int? {
            lines.firstIndex { $0.contains(#""event""#) && $0.contains(text) }
        }
    }

    /// Somebody says something in each turn but every fifth, so that there is always an event on
    /// its way to the crowd, and the next one waits when that is written. In one of the five cases
    /// nothing comes just then, so that no news lets the reply go.
    @Test(arguments: 0..<5) func inABusyCrowdItComesBehindItsEventInTime(pause: Int) throws {
        let world = try crowd()
        let frames = frames(of: 0, in: world)
        var turn = 0
        func goOn() throws {
            if turn == 0 || turn % 5 != pause { world.sayUnheard("meanwhile \(turn)") }
            try world.turn()
            turn += 1
        }
        while turn < 10 { try goOn() }
        world.send(0, "Ann's own")
        while !world.isAnswered(0), turn < 100 { try goOn() }
        // The event before takes five turns, and so does its own.
        #expect(turn - 10 <= 2 * Self.readers.count + 2)
        #expect(frames.haveReply(behind: "Ann's own"))
        try world.settle()
    }

    /// What is being written to the crowd keeps back the event, and the reply does not push it.
    @Test func itWaitsWhileItsEventWaits() throws {
        let world = try crowd()
        let last = Self.readers.count - 1
        let frames = frames(of: last, in: world)
        world.sayUnheard("before")
        try world.turn()
        world.send(last, "Eve's own")
        // The event before is written to one after the other, to her at last.
        for _ in 1...last {
            try world.turn()
            #expect(!world.isAnswered(last) && !frames.have("Eve's own"))
        }
        #expect(frames.have("before"))
        var turns = 0
        while !world.isAnswered(last), turns < 100 {
            try world.turn()
            turns += 1
        }
        #expect(turns == Self.readers.count && frames.haveReply(behind: "Eve's own"))
        try world.settle()
    }

    /// Where nothing is being written, the reply takes its event along.
    @Test func inAQuietConversationItTakesItsEventAlong() throws {
        let world = try crowd()
        let frames = frames(of: 0, in: world)
        world.send(0, "Ann's own")
        try world.pass()
        #expect(world.isAnswered(0) && frames.haveReply(behind: "Ann's own"))
        try world.settle()
    }
}
