import Chat
import Ports
import Testing
import Wire

@testable import Engine

/// The replica machine alone: which state follows each event in each state, and what it asks then.
/// The stream stands at change 10, with values taken up to 10 (whole) or 12 (on top of a hole).
@Suite struct ReplicaTests {
    private static let now = MachineSamples.start
    private static let later = now.adding(250)
    private static func head(_ rev: Int) -> Head { MachineSamples.head(rev) }

    /// The states by name, each reached by events alone.
    enum Place: String, CaseIterable, CustomTestStringConvertible {
        case broken, loading, comparing, forking, catchingUp, showing, waiting, live
        case hole

        var testDescription: String { rawValue }

        init(_ replica: Replica) {
            switch replica.state {
            case .broken: self = .broken
            case .live: self = .live
            case .liveWithHole: self = .hole
            case .behind(_, let phase):
                switch phase {
                case .loading: self = .loading
                case .comparingHead: self = .comparing
                case .forkingEpoch: self = .forking
                case .catchingUp: self = .catchingUp
                case .showingLatest: self = .showing
                case .waiting: self = .waiting
                }
            }
        }

        /// What the origin is asked in it.
        var step: Replica.Step? {
            switch self {
            case .broken, .waiting, .live, .hole: nil
            case .loading: .conversation
            case .comparing: .compareHead
            case .forking: .forkEpoch
            case .catchingUp: .catchUp
            case .showing: .latest
            }
        }

        var replica: Replica {
            var replica = Replica(at: now)
            if self == .broken { return replica }
            replica.acknowledged(generation: 1, isKnown: self != .loading)
            switch self {
            case .broken, .loading, .comparing: break
            case .forking: _ = replica.compared(head(11), seen: head(12), position: head(10))
            case .catchingUp: _ = replica.compared(head(13), seen: head(10), position: head(10))
            case .showing:
                _ = replica.compared(head(13), seen: head(10), position: head(10))
                replica.goOn(isFar: true)
            case .waiting, .live, .hole:
                _ = replica.compared(head(10), seen: head(10), position: head(10))
                if self != .waiting { _ = replica.arrived(at: 10, at: now) }
                if self == .hole { _ = replica.expects(12, at: now) }
            }
            return replica
        }
    }

    enum Event: String, CaseIterable, CustomTestStringConvertible {
        case acknowledged, lapsed, doubted, same, newer, newerOverHole, older, expects, graceOver
        case arrived, conflict

        var testDescription: String { rawValue }

        func happen(to replica: inout Replica) {
            switch self {
            case .acknowledged: replica.acknowledged(generation: 2, isKnown: true)
            case .lapsed: replica.lapsed(at: later)
            case .doubted: _ = replica.doubted(at: later)
            case .same: _ = replica.compared(head(10), seen: head(10), position: head(10))
            case .newer: _ = replica.compared(head(11), seen: head(10), position: head(10))
            case .newerOverHole:
                _ = replica.compared(head(13), seen: head(12), position: head(10))
            case .older: _ = replica.compared(head(9), seen: head(10), position: head(10))
            case .expects: _ = replica.expects(12, at: later)
            case .graceOver: _ = replica.givesUpHole(at: later.adding(250), grace: 250)
            case .arrived: _ = replica.arrived(at: 12, at: later)
            case .conflict: replica.conflicted()
            }
        }
    }

    /// Where each event leads from each state; a state stays where nothing is said.
    private static let table: [Event: [Place: Place]] = [
        .acknowledged: Dictionary(
            uniqueKeysWithValues: Place.allCases.map { ($0, Place.comparing) }),
        .lapsed: Dictionary(uniqueKeysWithValues: Place.allCases.map { ($0, Place.broken) }),
        .doubted: Dictionary(
            uniqueKeysWithValues: Place.allCases.map {
                ($0, $0 == .broken ? .broken : .comparing)
            }),
        .same: [.comparing: .waiting],
        .newer: [.comparing: .catchingUp],
        .newerOverHole: [.comparing: .catchingUp],
        .older: [.comparing: .forking],
        .expects: [.live: .hole],
        .graceOver: [.hole: .catchingUp],
        .arrived: [.waiting: .live, .hole: .live],
    ]

    @Test(arguments: Place.allCases, Event.allCases)
    func eachEventLeadsWhereTheTableSays(_ place: Place, _ event: Event) {
        var replica = place.replica
        #expect(Place(replica) == place)
        #expect(replica.next == place.step)
        event.happen(to: &replica)
        var expected = Self.table[event]?[place] ?? place
        if place != .broken, event == .conflict { expected = .forking }
        #expect(Place(replica) == expected)
        #expect(replica.next == expected.step)
    }

    // MARK: - The feed

    @Test(arguments: Place.allCases)
    func whatWasAskedBeforeABreakDoesNotCount(_ place: Place) {
        for event in [Event.acknowledged, .lapsed, .doubted] {
            if place == .broken, event == .doubted { continue }
            var replica = place.replica
            replica.inFlight.begin(.latest)
            replica.identity.confirm()
            let era = replica.era
            event.happen(to: &replica)
            #expect(replica.era !== era && replica.inFlight.isEmpty && !replica.isConfirmed)
            #expect(replica.readTo == nil && replica.hole == nil)
        }
    }

    @Test func itIsAwaySinceTheFeedBrokeOrWasDoubted() {
        for event in [Event.lapsed, .doubted] {
            var replica = Place.live.replica
            event.happen(to: &replica)
            #expect(replica.awaySince == Self.later, "\(event)")
            // Who is away already stays away since then.
            guard event != .lapsed else { continue }
            var away = Place.catchingUp.replica
            event.happen(to: &away)
            #expect(away.awaySince == Self.now, "\(event)")
        }
    }

    // MARK: - Heads

    @Test(arguments: Place.allCases)
    func anotherLogIsFoundInAnyState(_ place: Place) {
        var replica = place.replica
        let other = MachineSamples.head(10, epoch: "e2")
        #expect(
            replica.compared(other, seen: Self.head(10), position: Self.head(10))
                == .replaced(other, .replaced))
        #expect(replica.compared(nil, seen: Self.head(10), position: Self.head(10)) == .vanished)
        #expect(Place(replica) == place)
    }

    @Test func theSameRevWithAnotherMarkIsAnotherHistory() {
        var replica = Place.comparing.replica
        let other = MachineSamples.head(10, mark: "x")
        #expect(replica.compared(other, seen: Self.head(10), position: Self.head(10)) == .nothing)
        #expect(Place(replica) == .forking)
    }

    @Test func theSameHeadAboveAHoleConfirmsAndIsCaughtUp() {
        var replica = Place.comparing.replica
        #expect(
            replica.compared(Self.head(12), seen: Self.head(12), position: Self.head(10))
                == .confirmed(missing: true))
        #expect(Place(replica) == .catchingUp)
    }

    @Test func aLookAtALiveLogMovesNothing() {
        var replica = Place.live.replica
        #expect(
            replica.compared(Self.head(13), seen: Self.head(10), position: Self.head(10))
                == .moved(to: 13))
        #expect(Place(replica) == .live)
    }

    @Test func aLogThatWasToldOfItsLossIsComparedAgainOrBegunAnew() {
        // It grew past what was taken from it, and keeps no mark of that: nobody knows whether it
        // is that log, whatever was known of it before.
        for isConfirmed in [false, true] {
            var unknown = Place.forking.replica
            if isConfirmed { unknown.identity.confirm() }
            #expect(
                unknown.forked(Self.head(13), seen: Self.head(12))
                    == .replaced(Self.head(13), .mark))
        }
        var same = Place.forking.replica
        #expect(same.forked(Self.head(12), seen: Self.head(12)) == .nothing)
        #expect(Place(same) == .comparing)
        var shorter = Place.forking.replica
        #expect(shorter.forked(Self.head(11), seen: Self.head(12)) == .nothing)
        #expect(Place(shorter) == .comparing)
        let other = MachineSamples.head(11, epoch: "e2")
        #expect(shorter.forked(other, seen: Self.head(12)) == .replaced(other, .replaced))
    }

    // MARK: - The chain

    @Test func aConflictInTheMiddleOfAChainMeansThatWhatWasTakenIsLost() {
        var replica = Place.catchingUp.replica
        replica.readOn(to: 11)
        replica.conflicted()
        #expect(Place(replica) == .forking && replica.readTo == nil)
    }

    @Test func aLongChainShowsItsEndOnce() {
        var replica = Place.catchingUp.replica
        replica.goOn(isFar: false)
        #expect(Place(replica) == .catchingUp)
        replica.goOn(isFar: true)
        #expect(Place(replica) == .showing)
        replica.showedLatest()
        replica.goOn(isFar: true)
        #expect(Place(replica) == .catchingUp)
    }

    // MARK: - Holes

    @Test func aHoleStaysOpenUntilTheFeedHasBroughtAllThatIsKnown() {
        var replica = Place.hole.replica
        #expect(replica.arrived(at: 11, at: Self.later) == .hole)
        #expect(Place(replica) == .hole)
        #expect(replica.arrived(at: 12, at: Self.later) == .live)
        #expect(Place(replica) == .live)
    }

    @Test func aHoleKeepsItsMomentWhenTheFeedTellsMoreAboveIt() {
        var replica = Place.hole.replica
        Event.expects.happen(to: &replica)
        #expect(replica.hole?.since == Self.now)
        #expect(replica.arrived(at: 10, at: Self.later) == .hole)
        #expect(replica.hole?.since == Self.now)
        let isOver = replica.givesUpHole(at: Self.now.adding(249), grace: 250)
        #expect(!isOver)
    }

    /// Change 13 was mentioned while the feed had still to bring 12, and its grace runs since then.
    @Test func aHoleAboveAHoleBeginsWhenItWasMentioned() {
        var replica = Place.hole.replica
        let mentioned = Self.now.adding(100)
        for rev in [13, 14] { _ = replica.expects(rev, at: mentioned) }
        #expect(replica.arrived(at: 12, at: Self.later) == .hole)
        #expect(replica.hole?.since == mentioned)
        let isEarly = replica.givesUpHole(at: mentioned.adding(249), grace: 250)
        #expect(!isEarly)
        let isOver = replica.givesUpHole(at: mentioned.adding(250), grace: 250)
        #expect(isOver)
    }

    /// The feed brought what the chain was to be asked for. A damaged log is asked anyway: an
    /// answer shows that it is whole again.
    @Test func aChainThatTheFeedHasBroughtIsNotRead() {
        var replica = Place.hole.replica
        let isOver = replica.givesUpHole(at: Self.later, grace: 250)
        #expect(isOver)
        var damaged = replica
        #expect(replica.arrived(at: 11, at: Self.later) == .reading)
        #expect(replica.arrived(at: 12, at: Self.later) == .present)
        damaged.backoff.damage("changes")
        #expect(damaged.arrived(at: 12, at: Self.later) == .reading)
    }

    @Test func atThePresentWhatWasToldAboveThePositionIsForgotten() {
        var replica = Place.waiting.replica
        replica.ahead.tell(MachineSamples.message(11))
        #expect(replica.ahead.hasTold(MachineSamples.message(11)))
        #expect(!replica.ahead.hasTold(MachineSamples.message(11, rev: 12)))
        #expect(replica.arrived(at: 11, at: Self.now) == .present)
        #expect(!replica.ahead.hasTold(MachineSamples.message(11)))
        #expect(replica.arrived(at: 11, at: Self.now) == .live)
    }

    /// Change 11 wrote place 5, and so did change 13, whose value the feed brought with both.
    @Test func aValueThatCameAheadOfItsChangeIsToldOnce() {
        var replica = Place.waiting.replica
        let value = MachineSamples.message(5, rev: 13)
        let isToBeTold = replica.ahead.isToBeTold(value, at: 11)
        #expect(isToBeTold)
        #expect(replica.arrived(at: 11, at: Self.now) == .present)
        let isToldAgain = replica.ahead.isToBeTold(value, at: 13)
        #expect(!isToldAgain)
        // From here on nothing is remembered of it.
        #expect(!replica.ahead.hasTold(value))
        let next = MachineSamples.message(5, rev: 14)
        let isNextToBeTold = replica.ahead.isToBeTold(next, at: 14)
        #expect(isNextToBeTold)
    }
}
