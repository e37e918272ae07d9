import Chat
import Ports
import Testing
import Wire

@testable import Engine

/// Who speaks at the end of a turn, decided by `Pacing` alone, without an engine.
@Suite struct PacingMachineTests {
    private static let start = Timestamp(milliseconds: 1_700_000_000_000)

    private var pacing: Pacing

    init() {
        var limits = Limits()
        limits.pacing = 2
        limits.pacingCap = .milliseconds(20)
        pacing = Pacing(limits)
        pacing.advance(to: .seconds(10))
    }

    /// A conversation with so many subscribers and so many messages to tell.
    private static func stream(subscribers: Int = 2, messages: Int = 1) -> Stream {
        let stream = Stream(id: "c1", at: start)
        for id in 0..<subscribers {
            stream.add(Session(id: SessionID(id), at: start, rate: 0))
        }
        tell(messages, stream)
        return stream
    }

    /// So many more messages to tell.
    private static func tell(_ messages: Int, _ stream: Stream) {
        let message = EncodedMessage(
            seq: 1, rev: 1, id: "m1", author: "ann", isDeleted: false, createdAt: start, json: [])
        let fanout = Fanout(Limits(), Clock(at: start), nil)
        for _ in 0..<messages { fanout.tell(.inserted, .live, message, stream) }
    }

    /// The stream's event goes out with so many messages, and writing it takes 4 ms.
    private mutating func speak(_ stream: Stream, messages: Int, sessions: Int = 2) {
        stream.pace.noteFanOut(of: messages)
        pacing.noteSpoken(stream)
        pacing.wrote(sessions, in: .milliseconds(4), at: .seconds(10))
    }

    @Test mutating func whoWasNotBusySpeaksAtOnceAndOnlyOnce() {
        let stream = Self.stream()
        speak(stream, messages: 1)
        pacing.touch(stream)
        pacing.touch(stream)
        #expect(pacing.takeDue(isDraining: false).map(\.id) == ["c1"])
        #expect(pacing.takeDue(isDraining: false).isEmpty)
        #expect(pacing.counters.heldBack == 0)
    }

    /// Also where those who were left for the last slice are gone before it.
    @Test mutating func aFanOutInSlicesIsCountedAsOneWhenItIsOver() {
        let (stream, quick) = (Self.stream(), Self.stream())
        var sliced = WriteQueue()
        let place = sliced.append(Session(id: 7, at: Self.start, rate: 0))
        for speaking in [stream, quick] {
            speaking.pace.noteFanOut(of: 2)
            pacing.noteSpoken(speaking)
        }
        stream.pace.noteSliced(upTo: place)
        pacing.wrote(2, in: .milliseconds(3), at: .seconds(10), sliced)
        #expect(pacing.isSlicing && pacing.rests(stream, isDraining: false, sliced))
        #expect(!pacing.rests(stream, isDraining: true, sliced))
        // Nobody else waits for its end.
        #expect(pacing.rests(quick, isDraining: false))
        _ = sliced.removeFirst()
        pacing.wrote(0, in: .milliseconds(1), at: .seconds(10), sliced)
        #expect(!pacing.isSlicing && pacing.rests(stream, isDraining: false))
        pacing.advance(to: .milliseconds(10_007))
        #expect(pacing.rests(stream, isDraining: false))
        pacing.advance(to: .milliseconds(10_008))
        #expect(!pacing.rests(stream, isDraining: false))
    }

    /// Its event is in flight, or in outboxes whose sockets are: nothing was written yet.
    @Test mutating func aTurnThatWritesNothingEndsNoFanOut() {
        let stream = Self.stream()
        stream.pace.noteFanOut(of: 2)
        pacing.noteSpoken(stream)
        pacing.wrote(0, in: .zero, at: .seconds(10))
        #expect(pacing.isSlicing && !pacing.rests(stream, isDraining: false))
        pacing.wrote(2, in: .milliseconds(4), at: .seconds(10))
        #expect(!pacing.isSlicing && pacing.rests(stream, isDraining: false))
    }

    @Test mutating func whoWasBusyRestsTwiceAsLongAsTheWritingTook() {
        let stream = Self.stream()
        speak(stream, messages: 2)
        pacing.touch(stream)
        #expect(pacing.takeDue(isDraining: false).isEmpty)
        #expect(stream.pace.isHeld)
        #expect(pacing.nextRelease == .milliseconds(10_008))
        // What comes meanwhile is not counted again.
        pacing.touch(stream)
        pacing.advance(to: .milliseconds(10_007))
        #expect(pacing.takeDue(isDraining: false).isEmpty)
        #expect(pacing.counters.heldBack == 1)
        pacing.advance(to: .milliseconds(10_008))
        #expect(pacing.takeDue(isDraining: false).map(\.id) == ["c1"])
        #expect(!stream.pace.isHeld)
        #expect(pacing.nextRelease == nil)
    }

    @Test mutating func itBearsItsShareOfTheWritingUpToTheLongestRest() {
        let shared = Self.stream()
        speak(shared, messages: 2, sessions: 8)
        pacing.touch(shared)
        _ = pacing.takeDue(isDraining: false)
        #expect(pacing.nextRelease == .milliseconds(10_002))
        let slow = Self.stream()
        slow.pace.noteFanOut(of: 2)
        pacing.noteSpoken(slow)
        pacing.wrote(2, in: .seconds(1), at: .seconds(10))
        #expect(pacing.rests(slow, isDraining: false))
        pacing.advance(to: .milliseconds(10_020))
        #expect(!pacing.rests(slow, isDraining: false))
    }

    @Test mutating func aRestTooShortToBeWokenForIsNone() {
        let stream = Self.stream()
        stream.pace.noteFanOut(of: 2)
        pacing.noteSpoken(stream)
        pacing.wrote(2, in: .microseconds(99), at: .seconds(10))
        #expect(!pacing.rests(stream, isDraining: false))
        stream.pace.noteFanOut(of: 2)
        pacing.noteSpoken(stream)
        pacing.wrote(2, in: .microseconds(100), at: .seconds(10))
        #expect(pacing.rests(stream, isDraining: false))
    }

    @Test mutating func aDrainKeepsNothingBack() {
        let stream = Self.stream()
        speak(stream, messages: 2)
        pacing.touch(stream)
        #expect(pacing.takeDue(isDraining: true).count == 1)
    }

    @Test mutating func withoutPacingNobodyRests() {
        pacing.adopt(Limits())
        let stream = Self.stream()
        speak(stream, messages: 2)
        #expect(!pacing.rests(stream, isDraining: false))
    }

    @Test mutating func itWaitsAMillisecondForAMessageOnItsWay() {
        let stream = Self.stream()
        pacing.noteSend(to: stream, token: 1)
        pacing.touch(stream)
        #expect(pacing.takeDue(isDraining: false).isEmpty)
        #expect(pacing.nextRelease == .milliseconds(10_001))
        pacing.advance(to: .milliseconds(10_001))
        #expect(pacing.takeDue(isDraining: false).count == 1)
        #expect(pacing.counters.awaited == 1 && pacing.counters.awaitedInVain == 1)
        // The log is slow: nobody waits for it for a while.
        pacing.touch(stream)
        #expect(pacing.takeDue(isDraining: false).count == 1)
        pacing.advance(to: .milliseconds(10_101))
        pacing.touch(stream)
        #expect(pacing.takeDue(isDraining: false).isEmpty)
    }

    @Test(arguments: [true, false])
    mutating func whatArrivesOrWasRefusedEndsTheWait(_ hasArrived: Bool) {
        let stream = Self.stream()
        pacing.noteSend(to: stream, token: 1)
        pacing.touch(stream)
        _ = pacing.takeDue(isDraining: false)
        if hasArrived { stream.pace.noteArrival() } else { pacing.noteSent(token: 1) }
        #expect(pacing.nextRelease == .zero)
        #expect(pacing.takeDue(isDraining: false).count == 1)
        #expect(pacing.counters.awaitedInVain == 0)
    }

    @Test mutating func nothingToTellDoesNotWait() {
        let stream = Self.stream(messages: 0)
        pacing.noteSend(to: stream, token: 1)
        pacing.touch(stream)
        #expect(pacing.takeDue(isDraining: false).count == 1)
    }

    @Test mutating func allAreTakenAlsoThoseThatRest() {
        let (resting, other) = (Self.stream(), Self.stream())
        speak(resting, messages: 2)
        pacing.touch(resting)
        _ = pacing.takeDue(isDraining: false)
        pacing.touch(other)
        let all = pacing.takeAll()
        #expect(all.count == 2 && all.first === resting && all.last === other)
        #expect(pacing.takeAll().isEmpty && !resting.pace.isHeld)
    }

    // MARK: - A crowd that gathers

    /// The turn ends so many microseconds after the stream's last fan-out.
    private mutating func due(after microseconds: Int, _ sliced: WriteQueue = WriteQueue()) -> Int {
        pacing.advance(to: .seconds(10) + .microseconds(microseconds))
        return pacing.takeDue(isDraining: false, sliced).count
    }

    /// A crowd without pacing, whose last fan-out had so many messages and took 4 ms.
    private mutating func crowd(after messages: Int) -> Stream {
        pacing.adopt(Limits())
        let stream = Self.stream(messages: 0)
        speak(stream, messages: messages)
        return stream
    }

    /// The stream's event goes out with so many messages; it was written to so many sessions in
    /// 3 ms, and one is left.
    private mutating func speakInSlices(
        _ stream: Stream, messages: Int, sessions: Int
    ) -> WriteQueue {
        var sliced = WriteQueue()
        stream.pace.noteFanOut(of: messages)
        pacing.noteSpoken(stream)
        stream.pace.noteSliced(upTo: sliced.append(Session(id: 7, at: Self.start, rate: 0)))
        pacing.wrote(sessions, in: .milliseconds(3), at: .seconds(10), sliced)
        return sliced
    }

    @Test mutating func aCrowdWaitsUntilAsManyAreThereAsLastTime() {
        let stream = crowd(after: 3)
        Self.tell(1, stream)
        pacing.touch(stream)
        #expect(due(after: 0) == 0)
        #expect(pacing.nextRelease == .seconds(10) + .microseconds(500))
        Self.tell(1, stream)
        #expect(due(after: 100) == 0)
        #expect(pacing.nextRelease == .seconds(10) + .microseconds(500))
        // Then as long as more are on their heels.
        Self.tell(1, stream)
        #expect(due(after: 120) == 0)
        #expect(pacing.nextRelease == .seconds(10) + .microseconds(140))
        Self.tell(1, stream)
        #expect(due(after: 135) == 0)
        #expect(pacing.nextRelease == .seconds(10) + .microseconds(155))
        #expect(due(after: 155) == 1)
        #expect(pacing.counters.awaited == 1 && pacing.counters.awaitedInVain == 0)
    }

    /// More that come at the last moment do not prolong the longest wait.
    @Test mutating func whatComesLateDoesNotProlongIt() {
        let stream = crowd(after: 2)
        Self.tell(1, stream)
        pacing.touch(stream)
        #expect(due(after: 0) == 0)
        Self.tell(1, stream)
        #expect(due(after: 495) == 0)
        #expect(pacing.nextRelease == .seconds(10) + .microseconds(500))
    }

    @Test mutating func aCrowdDoesNotWaitWhereNoneAreExpected() {
        // Only its position is to be told.
        let silent = crowd(after: 3)
        pacing.touch(silent)
        #expect(due(after: 0) == 1)
        let leaving = crowd(after: 3)
        Self.tell(1, leaving)
        pacing.touch(leaving)
        #expect(pacing.takeDue(isDraining: true).count == 1)
        #expect(pacing.counters.awaited == 0)
    }

    /// It rested, so that what came has gathered already.
    @Test mutating func aCrowdThatHasRestedDoesNotWaitBesides() {
        let stream = Self.stream()
        speak(stream, messages: 3)
        pacing.touch(stream)
        #expect(due(after: 7_999) == 0)
        #expect(due(after: 8_000) == 1)
        // The next time, without pacing, it has not.
        pacing.adopt(Limits())
        stream.pace.noteFanOut(of: 3)
        pacing.noteSpoken(stream)
        pacing.wrote(2, in: .milliseconds(4), at: .seconds(10) + .milliseconds(8))
        pacing.touch(stream)
        #expect(due(after: 8_000) == 0)
    }

    /// Two fan-outs of which one followed the other at once could have been one: 9 and 7, over and
    /// over, where 16 come together.
    @Test mutating func twoFanOutsWithoutAPauseCountAsOne() {
        let stream = crowd(after: 9)
        var sliced = speakInSlices(stream, messages: 9, sessions: 2)
        Self.tell(9, stream)
        pacing.touch(stream)
        #expect(due(after: 0, sliced) == 0)
        // When the first one is written to everybody, there are as many as it had.
        _ = sliced.removeFirst()
        pacing.wrote(1, in: .milliseconds(1), at: .seconds(10), sliced)
        #expect(due(after: 0, sliced) == 1)
        speak(stream, messages: 7)
        pacing.touch(stream)
        #expect(due(after: 0) == 0, "sixteen are expected, nine are here")
        Self.tell(7, stream)
        #expect(due(after: 100) == 0)
        #expect(due(after: 120) == 1)
    }

    /// A reply that must follow the messages has sent them already.
    @Test mutating func whatWasSentMeanwhileEndsTheWait() {
        let stream = crowd(after: 3)
        Self.tell(1, stream)
        pacing.touch(stream)
        #expect(due(after: 0) == 0)
        stream.pace.noteFanOut(of: 1)
        #expect(!pacing.rests(stream, isDraining: false))
        #expect(pacing.nextRelease == .zero)
        #expect(due(after: 1) == 1)
        #expect(pacing.counters.awaitedInVain == 0)
    }

    /// The wait ends in the turn that has read what it waited for, and commits it after this.
    @Test mutating func whatIsOnItsWayToTheLogByThenIsWaitedFor() {
        let stream = crowd(after: 3)
        Self.tell(1, stream)
        pacing.touch(stream)
        #expect(due(after: 0) == 0 && pacing.isLingering)
        pacing.noteSend(to: stream, token: 1)
        #expect(due(after: 500) == 0 && !pacing.isLingering)
        #expect(pacing.nextRelease == .seconds(10) + .microseconds(1_500))
        Self.tell(2, stream)
        stream.pace.noteArrival()
        pacing.noteSent(token: 1)
        #expect(due(after: 501) == 1)
        #expect(pacing.counters.awaitedInVain == 0)
    }

    /// Held until the last event is written to everybody, it waits for the answers to it.
    @Test mutating func aCrowdWaitsBehindItsOwnSlices() {
        let stream = crowd(after: 3)
        var sliced = speakInSlices(stream, messages: 3, sessions: 1)
        Self.tell(1, stream)
        pacing.touch(stream)
        #expect(due(after: 0, sliced) == 0 && !pacing.isLingering)
        _ = sliced.removeFirst()
        pacing.wrote(1, in: .milliseconds(1), at: .seconds(10), sliced)
        #expect(due(after: 0, sliced) == 0 && pacing.isLingering)
        #expect(pacing.nextRelease == .seconds(10) + .microseconds(500))
        #expect(pacing.counters.awaited == 1)
        Self.tell(2, stream)
        #expect(due(after: 100, sliced) == 0)
        #expect(due(after: 120, sliced) == 1)
    }

    /// What it has to say now is written with what was sent in the same turn.
    @Test mutating func aRestReplacesTheWait() {
        let stream = Self.stream(messages: 0)
        speak(stream, messages: 1)
        speak(stream, messages: 3)
        pacing.advance(to: .seconds(11))
        stream.pace.noteFanOut(of: 3)
        pacing.noteSpoken(stream)
        Self.tell(1, stream)
        pacing.touch(stream)
        #expect(pacing.takeDue(isDraining: false).isEmpty && pacing.isLingering)
        pacing.wrote(2, in: .milliseconds(4), at: .seconds(11))
        #expect(!pacing.isLingering && pacing.nextRelease == .milliseconds(11_008))
        Self.tell(2, stream)
        pacing.advance(to: .milliseconds(11_007))
        #expect(pacing.takeDue(isDraining: false).isEmpty)
        #expect(pacing.nextRelease == .milliseconds(11_008))
    }

    /// Typing and read markers are short, and say nothing of what messages take.
    @Test mutating func onlyMessagesSayWhatAFanOutTakes() {
        let stream = crowd(after: 3)
        pacing.noteSpoken(stream)
        pacing.wrote(2, in: .microseconds(10), at: .seconds(10))
        Self.tell(1, stream)
        pacing.touch(stream)
        #expect(due(after: 0) == 0)
        #expect(pacing.nextRelease == .seconds(10) + .microseconds(500))
        // Nor does such an event end a wait.
        pacing.noteSpoken(stream)
        pacing.wrote(2, in: .microseconds(10), at: .seconds(10))
        #expect(due(after: 1) == 0)
    }
}
