import Testing
import WebSockets
import Wire

@testable import Gateway

/// What sockets are given in a turn.
@Suite struct WritesTests {
    private static func frame(_ text: String) -> Wire.Frame { Wire.Frame(Array(text.utf8)) }

    /// Adds a write for each of the lists, to sockets 0, 1, ….
    private static func writes(_ lists: [[Wire.Frame]]) -> Writes {
        var writes = Writes()
        for (number, frames) in lists.enumerated() {
            writes.begin()
            for frame in frames { writes.append(frame) }
            writes.end(for: SocketID(rawValue: UInt64(number)))
        }
        return writes
    }

    /// The same lists again.
    private static func expect(_ writes: Writes, toBe lists: [[Wire.Frame]]) {
        #expect(writes.sockets.map(\.rawValue) == (0..<UInt64(lists.count)).map { $0 })
        #expect(writes.runs.flatMap(\.sockets) == Array(lists.indices))
        for run in writes.runs {
            for frames in lists[run.sockets] {
                #expect(writes.frames[run.frames].elementsEqual(frames) { $0 === $1 })
            }
        }
    }

    @Test func whatManyAreSentIsThereOnce() {
        let frame = Self.frame("shared")
        let lists = Array(repeating: [frame], count: 100)
        let writes = Self.writes(lists)
        Self.expect(writes, toBe: lists)
        #expect(writes.frames.count == 1)
        #expect(writes.runs.count == 1)
    }

    @Test func runsAreSharedAsFarAsTheyAreTheSame() {
        let (one, two, own) = (Self.frame("one"), Self.frame("two"), Self.frame("own"))
        let lists = [
            [one, two], [one, two], [one], [one, two], [one, own], [one, own, two], [two], [own],
        ]
        let writes = Self.writes(lists)
        Self.expect(writes, toBe: lists)
        #expect(writes.frames.count == 9)
        #expect(writes.runs.count == 7)
    }

    @Test func framesThatOnlyLookTheSameAreNot() {
        let lists = [[Self.frame("same")], [Self.frame("same")]]
        let writes = Self.writes(lists)
        Self.expect(writes, toBe: lists)
        #expect(writes.frames.count == 2)
    }

    @Test func whoIsSentNothingIsNotWrittenTo() {
        var commands = LoopCommands()
        commands.writes.begin()
        commands.writes.end(for: SocketID(rawValue: 1))
        #expect(commands.isEmpty)
        commands.heard = 1
        #expect(!commands.isEmpty)
    }

    @Test func nothingOfTheTurnBeforeIsSentAgain() {
        let (one, two) = (Self.frame("one"), Self.frame("two"))
        var writes = Self.writes([[one], [one, two]])
        writes.removeAll()
        #expect(writes.isEmpty)
        writes.begin()
        writes.append(one)
        writes.end(for: SocketID(rawValue: 0))
        Self.expect(writes, toBe: [[one]])
        #expect(writes.frames.count == 1)
    }

    @Test func oneCoreIsLeftToOthers() {
        #expect(WorkerLoops.count(3) == 3)
        #expect((1...64).contains(WorkerLoops.count(0)))
    }
}
