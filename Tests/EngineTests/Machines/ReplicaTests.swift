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
        case broken, loading, comparing, verifying, forking, catchingUp, showing, waiting, live
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
                case .verifyingHead: self = .verifying
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
            case .verifying: .verifyHead
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
            case .verifying: _ = replica.compared(head(13), seen: head(12), position: head(10))
            case .forking: _ = replica.compared(head(11), seen: head(12), position: head(10))
            case .catchingUp: _ = replica.compared(head(13), seen: head(10), position: head(10))
            case .showing:
                _ = replica.compared(head(13), seen: head(10), position: head(10))
                replica.goOn(isFar: true, isWatched: true)
            case .waiting, .live, .hole:
                _ = replica.compared(head(10), seen: head(10), position: head(10))
                if self != .waiting { _ = replica.arrived(at: 10, at: now) }
                if self == .hole, replica.expects(12) { replica.openHole(at: now) }
            }
            return replica
        }
    }

    enum Event: String, CaseIterable, CustomTestStringConvertible {
        case acknowledged, lapsed, doubted, same, newer, newerOverHole, older, fellBehind, expects
        case graceOver, arrived, conflictOnCatchUp, conflictOnVerify, conflictOnPage

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
            case .fellBehind: replica.fellBehind(at: later)
            case .expects: if replica.expects(12) { replica.openHole(at: later) }
            case .graceOver: _ = replica.givesUpHole(at: later.adding(250), grace: 250)
            case .arrived: _ = replica.arrived(at: 12, at: later)
            case .conflictOnCatchUp: _ = replica.conflicted(.catchUp)
            case .conflictOnVerify: _ = replica.conflicted(.verifyHead)
            case .conflictOnPage: _ = replica.conflicted(.latest)
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
        .newerOverHole: [.comparing: .verifying],
        .older: [.comparing: .forking],
        .fellBehind: [.live: .waiting, .hole: .waiting],
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
        if place != .broken {
            if event == .conflictOnCatchUp || event == .conflictOnVerify { expected = .forking }
        }
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
            _ = replica.identity.confirm()
            let era = replica.era
            event.happen(to: &replica)
            #expect(replica.era == era + 1 && replica.inFlight.isEmpty && !replica.isConfirmed)
            #expect(replica.readTo == nil && replica.holeSince == nil)
        }
    }

    /// What the feed told above a hole is of that feed: it leads nowhere in the next.
    @Test func whatWasSeenOfAFeedEndsWithIt() {
        for event in [Event.acknowledged, .lapsed] {
            var replica = Place.waiting.replica
            _ = replica.ahead.see(Self.head(11))
            event.happen(to: &replica)
            #expect(replica.ahead.isEmpty)
        }
        var doubted = Place.waiting.replica
        _ = doubted.ahead.see(Self.head(11))
        _ = doubted.doubted(at: Self.later)
        #expect(!doubted.ahead.isEmpty)
    }

    @Test func itIsAwaySinceTheFeedBrokeOrWasDoubtedOrFellBehind() {
        for event in [Event.lapsed, .doubted, .fellBehind] {
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

    @Test func aLogThatWasToldOfItsLossIsReadAgainOrBegunAnew() {
        // It has what was taken from it after all, and is known: it keeps no mark of the position.
        var known = Place.forking.replica
        _ = known.identity.confirm()
        #expect(
            known.forked(Self.head(12), seen: Self.head(12), position: Self.head(10)) == .nothing)
        #expect(Place(known) == .catchingUp && known.readTo == Self.unmarked(10))
        // Nobody knows whether it is that log.
        var unknown = Place.forking.replica
        #expect(
            unknown.forked(Self.head(13), seen: Self.head(12), position: Self.head(10))
                == .replaced(Self.head(13), .mark))
        var same = Place.forking.replica
        #expect(
            same.forked(Self.head(12), seen: Self.head(12), position: Self.head(10)) == .nothing)
        #expect(Place(same) == .comparing)
        var shorter = Place.forking.replica
        _ = shorter.identity.confirm()
        #expect(
            shorter.forked(Self.head(11), seen: Self.head(12), position: Self.head(10)) == .nothing)
        #expect(Place(shorter) == .comparing)
        let other = MachineSamples.head(11, epoch: "e2")
        #expect(
            shorter.forked(other, seen: Self.head(12), position: Self.head(10))
                == .replaced(other, .replaced))
    }

    private static func unmarked(_ rev: Int) -> Head { MachineSamples.head(rev, mark: "") }

    // MARK: - The chain

    @Test func aConflictInTheMiddleOfAChainIsLookedAtBeforeAnythingIsForked() {
        var replica = Place.catchingUp.replica
        #expect(replica.readOn(to: Self.head(11), newest: Self.head(13)) == nil)
        let isAnswer = replica.conflicted(.catchUp)
        #expect(isAnswer && Place(replica) == .comparing && replica.readTo == nil)
    }

    @Test func whatTheFeedToldEndsAChainThatReachesIt() {
        var replica = Place.catchingUp.replica
        for rev in [14, 13, 12] { _ = replica.ahead.see(Self.head(rev)) }
        #expect(replica.readOn(to: Self.head(11), newest: Self.head(15)) == nil)
        #expect(replica.readOn(to: Self.head(11), newest: Self.head(14)) == Self.head(14))
    }

    @Test func aLongChainShowsItsEndOnceAndJumpsWhereNobodyWatches() {
        var replica = Place.catchingUp.replica
        replica.goOn(isFar: false, isWatched: false)
        #expect(Place(replica) == .catchingUp)
        replica.goOn(isFar: true, isWatched: true)
        #expect(Place(replica) == .showing)
        replica.showedLatest()
        replica.goOn(isFar: true, isWatched: true)
        #expect(Place(replica) == .catchingUp)
        replica.goOn(isFar: true, isWatched: false)
        #expect(Place(replica) == .loading)
    }

    @Test func aJumpIsTakenOnlyBeyondWhatWasReadAndWhereNobodyWatches() {
        func jump(to rev: Int, isWatched: Bool) -> (Bool, Place) {
            var replica = Place.catchingUp.replica
            _ = replica.readOn(to: Self.head(12), newest: Self.head(20))
            replica.goOn(isFar: true, isWatched: false)
            let isTaken = replica.mayStand(
                at: rev, position: Self.head(10), isWatched: isWatched)
            return (isTaken, Place(replica))
        }
        #expect(jump(to: 13, isWatched: false) == (true, .loading))
        #expect(jump(to: 13, isWatched: true) == (false, .catchingUp))
        #expect(jump(to: 12, isWatched: false) == (false, .catchingUp))
        #expect(jump(to: 10, isWatched: false) == (false, .comparing))
    }

    // MARK: - Holes

    @Test func aHoleStaysOpenUntilTheFeedHasBroughtAllThatIsKnown() {
        var replica = Place.hole.replica
        replica.followed(to: 11)
        #expect(Place(replica) == .hole)
        replica.followed(to: 12)
        #expect(Place(replica) == .live)
    }

    @Test func aHoleKeepsItsMomentWhenTheFeedTellsMoreAboveIt() {
        var replica = Place.hole.replica
        Event.expects.happen(to: &replica)
        replica.fellBehind(at: Self.later)
        #expect(replica.holeSince == Self.now)
        #expect(replica.arrived(at: 10, at: Self.later) == .hole)
        #expect(replica.holeSince == Self.now)
        let isOver = replica.givesUpHole(at: Self.now.adding(249), grace: 250)
        #expect(!isOver)
    }

    @Test func whatWasForgottenIsReadBeforeItIsThePresent() {
        var replica = Place.waiting.replica
        for rev in 12...10_012 { _ = replica.ahead.see(Self.head(rev)) }
        _ = replica.ahead.absorb(after: Self.head(11))
        #expect(replica.arrived(at: 10_011, at: Self.now) == .hole)
        let isOver = replica.givesUpHole(at: Self.later, grace: 250)
        #expect(isOver)
        replica.endChain()
        #expect(replica.arrived(at: 10_012, at: Self.later) == .present)
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

    @Test func nobodyIsToldWhatMayFollowARemoval() {
        var replica = Replica(at: Self.now)
        replica.knowMembers(upTo: 5)
        replica.knowMembers(upTo: 3)
        #expect(replica.knowsMembers(before: 6) && !replica.knowsMembers(before: 7))
    }
}
