import Chat
import Ports
import Rules
import Testing
import Wire

@testable import Engine

/// An origin of presence in memory, as `Sources/Ports/Presence.swift` describes it: the model that
/// the machines are driven against. It can lose its last seconds, start anew with another clock, be
/// emptied, and execute a call late.
private struct ModelOrigin {
    private struct Kept {
        var entry: PresenceEntry
        var era: String
    }

    private struct Data {
        var entries: [ID: [String: Kept]] = [:]
        var leases: [String: Int64] = [:]
        /// The era in which each gateway renewed its lease, and the number of its latest call.
        var eras: [String: String] = [:]
        var numbers: [String: Int64] = [:]
        /// The process that the data was last used by, since when, and until when it is young.
        var process = -1
        var began: Int64 = 0
        var young: Int64 = 0
    }

    private var data = Data()
    private var process = 0
    private var history: [Data] = []
    /// Milliseconds by which its clock is ahead.
    private var ahead: Int64 = 0

    /// A second is over.
    mutating func remember() {
        history.append(data)
        if history.count > 5 { history.removeFirst() }
    }

    /// Another process takes over, which lacks what was written in the last seconds.
    mutating func failOver(losing seconds: Int, ahead: Int64) {
        process += 1
        self.ahead = ahead
        if history.count > seconds { data = history[history.count - 1 - seconds] }
    }

    mutating func empty() {
        process += 1
        data = Data()
    }

    /// - Returns: the answer, and the users who were said.
    mutating func answer(_ call: PresenceCall, at time: Int64) -> (PresenceReading, [String]) {
        let now = time + ahead
        if data.process != process {
            data.process = process
            data.began = now
            data.young = now + call.lease
        }
        let era = "\(process)-\(data.began)"
        let isOvertaken = call.number < data.numbers[call.gateway, default: 0]
        let says = isOvertaken ? [] : call.says
        for saying in says {
            let entry = PresenceEntry(
                gateway: call.gateway, isAway: saying.isAway, since: now - saying.begun, said: now,
                end: saying.ended.map { .init(at: now - $0, until: now + saying.lasts) })
            data.entries[saying.user.id, default: [:]][call.gateway] = Kept(entry: entry, era: era)
        }
        let isHeld = data.leases[call.gateway].map { $0 + call.lease >= now } ?? false
        let isRenewed =
            switch isOvertaken ? .none : call.renewal {
            case .none: false
            case .ifHeld: isHeld && era == call.era
            case .allSaid: era == call.era
            case .whole: true
            }
        if !isOvertaken { data.numbers[call.gateway] = call.number }
        if isRenewed {
            data.leases[call.gateway] = now
            data.eras[call.gateway] = era
        } else if !says.isEmpty, data.eras[call.gateway] != era, now < data.young {
            data.young = now + call.lease
        }
        var users: [ID: [PresenceEntry]] = [:]
        for user in call.reads {
            users[user.id] = (data.entries[user.id] ?? [:]).values.map { kept in
                var entry = kept.entry
                entry.renewed = data.leases[entry.gateway]
                entry.isForgotten = kept.era != era && data.eras[entry.gateway] == era
                return entry
            }
        }
        let reading = PresenceReading(
            now: now, era: era, eraBegan: data.began, isYoungUntil: data.young,
            isRenewed: isRenewed, leases: data.leases, users: users)
        return (reading, says.map(\.user))
    }
}

/// The machines of presence against an adversary: gateways die, stop and are cut off, calls are
/// lost, slow and executed late, the origin fails over, users come and go; and what a watcher is
/// told, against a model that says who is there.
@Suite struct PresenceMachineTests {
    private static let options = {
        var options = PresenceOptions()
        options.lease = 15_000
        options.linger = 3000
        options.grace = 60_000
        return options
    }()
    private static let users = ["u0", "u1", "u2", "u3", "u4"].map(\.id)
    private static let caller = "w".id
    private static let step: Int64 = 500

    /// A gateway: its machines, its link, its connections, and one that watches all users.
    private struct Gateway {
        var name: String
        var own = OwnPresence()
        var known = KnownPresence()
        var watching: PresenceWatching
        var isLinked = true
        /// The call under way, and when its answer comes; nil: it is lost.
        var flight: (call: PresenceCall, answer: PresenceReading?, at: Int64, sentAt: Int64)?
        /// How each connection is there, by user.
        var connections: [ID: [ConnectionPresence]] = [:]
        /// Since when the user has been here without a break, and not hidden.
        var hereSince: [ID: Int64] = [:]
        /// Those whom the origin has acknowledged.
        var acknowledged: Set<ID> = []
        /// When it was last answered, and had last been without the origin for a lease.
        var answeredAt: Int64
        var lastLongCut: Int64 = -1

        init(_ name: String, at now: Int64) {
            self.name = name
            answeredAt = now
            own.limit = 2
            known.limit = 3
            var rooms = PresenceRooms()
            rooms.hold("c".id, by: 1)
            rooms.check("c".id)
            _ = rooms.take()
            let moment = Timestamp(milliseconds: now)
            rooms.answered("c".id, Set(users + [caller]), at: moment)
            watching = PresenceWatching(
                [PresenceWatch(conversation: "c")], after: 0, 0, at: moment)
            _ = watching.adopt(watching.scope(of: caller, rooms))
            for user in users + [caller] { known.watch(user, by: 1) }
            _ = watching.answer(known)
        }

        func isHere(_ user: ID) -> Bool {
            connections[user]?.contains { $0 != .hidden } ?? false
        }

        mutating func settle(at now: Int64) {
            for user in users {
                hereSince[user] = isHere(user) ? hereSince[user] ?? now : nil
            }
            // What is under way when a lease is over may come too late.
            if now - answeredAt >= options.lease - 4 * step { lastLongCut = now }
        }

        /// Whether nobody may be told that the user is absent.
        func vouches(for user: ID) -> Bool {
            guard isHere(user), acknowledged.contains(user), let since = hereSince[user] else {
                return false
            }
            return lastLongCut < since
        }
    }

    private struct World {
        var random: SplitMix
        var now: Int64 = 1_000_000
        var origin = ModelOrigin()
        var gateways = [Gateway("a", at: 1_000_000), Gateway("b", at: 1_000_000)]
        /// Calls that the origin executes though their gateway gave them up.
        var late: [(call: PresenceCall, at: Int64)] = []
        var births = 0
        /// What happened, for a failure.
        var trace: [String] = []
        var tellings: [PresenceState: Int] = [:]
        /// The first thing that was told and is not so.
        var fault: String?

        var moment: Timestamp { Timestamp(milliseconds: now) }

        mutating func chance(_ percent: Double) -> Bool {
            Double(random.next() % 100_000) < percent * 1000
        }

        mutating func note(_ text: String) { trace.append("\(now): \(text)") }

        /// The origin executes a call; linked gateways hear whom it said.
        mutating func execute(_ call: PresenceCall) -> PresenceReading {
            let (reading, said) = origin.answer(call, at: now)
            for place in gateways.indices where gateways[place].isLinked {
                for user in said { gateways[place].known.ask(user.id) }
            }
            return reading
        }
    }

    /// SplitMix64.
    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private static func connect(_ world: inout World, _ place: Int, _ user: ID) {
        let presence: ConnectionPresence =
            world.chance(70) ? .present : world.chance(50) ? .away : .hidden
        world.gateways[place].connections[user, default: []].append(presence)
        world.gateways[place].own.move(
            user, from: nil, to: presence, linger: options.linger, at: world.moment)
        world.note("\(user.text) connects \(presence) at \(world.gateways[place].name)")
    }

    private static func change(
        _ world: inout World, _ place: Int, _ user: ID, ends: Bool, returnsAt: Timestamp? = nil
    ) {
        guard let before = world.gateways[place].connections[user]?.last else { return }
        let after: ConnectionPresence? =
            ends ? nil : ConnectionPresence.allCases.randomElement(using: &world.random)
        world.gateways[place].connections[user]?.removeLast()
        if let after { world.gateways[place].connections[user]?.append(after) }
        world.gateways[place].own.move(
            user, from: before, to: after, linger: options.linger, returnsAt: returnsAt,
            at: world.moment)
        world.note(
            "\(user.text) at \(world.gateways[place].name): \(before) to"
                + " \(after.map { "\($0)" } ?? "none")")
    }

    private static func link(_ world: inout World, _ place: Int, _ isLinked: Bool) {
        world.gateways[place].isLinked = isLinked
        // As `Presence.linked` and `follows` do: nothing is heard until the link is back.
        world.gateways[place].known.askAll()
        if !isLinked, let flight = world.gateways[place].flight {
            world.gateways[place].flight = nil
            world.gateways[place].own.failed()
            world.gateways[place].known.failed(flight.call.reads)
        }
        world.note("\(world.gateways[place].name) is \(isLinked ? "linked" : "cut off")")
    }

    private static func disturb(_ world: inout World) {
        let place = Int(world.random.next() % 2)
        let user = users[Int(world.random.next() % UInt64(users.count))]
        if world.chance(8) { connect(&world, place, user) }
        if world.chance(9) { change(&world, place, user, ends: true) }
        if world.chance(4) { change(&world, place, user, ends: false) }
        // A client that changes its mind all the time.
        change(&world, place, users[4], ends: false)
        if world.chance(0.6) { link(&world, place, !world.gateways[place].isLinked) }
        if world.chance(0.2) {
            world.births += 1
            world.note("\(world.gateways[place].name) dies")
            world.gateways[place] = Gateway("g\(world.births)", at: world.now)
        }
        if world.chance(0.3) {
            world.note("\(world.gateways[place].name) stops")
            world.gateways[place].own.leave()
            for user in users {
                while world.gateways[place].connections[user]?.isEmpty == false {
                    change(
                        &world, place, user, ends: true,
                        returnsAt: world.moment.adding(Int64(world.random.next() % 2000)))
                }
            }
        }
        if world.gateways[place].own.isLeaving, world.gateways[place].own.isSaid {
            world.births += 1
            world.gateways[place] = Gateway("g\(world.births)", at: world.now)
        }
        if world.chance(0.3) {
            let lost = Int(world.random.next() % 4)
            let ahead = Int64(world.random.next() % 200_000) - 100_000
            world.origin.failOver(losing: lost, ahead: ahead)
            world.late = []
            world.note("the origin fails over, loses \(lost) s, and is \(ahead) ms ahead")
        }
        if world.chance(0.05) {
            world.origin.empty()
            world.note("the origin is emptied")
        }
    }

    /// One gateway asks the origin, as `Presence` does.
    private static func ask(_ world: inout World, _ place: Int) {
        world.gateways[place].own.advance(to: world.moment)
        world.gateways[place].known.advance(to: world.moment)
        guard world.gateways[place].isLinked else { return }
        if let flight = world.gateways[place].flight {
            guard flight.at <= world.now else { return }
            world.gateways[place].flight = nil
            take(&world, place, flight.call, flight.answer, sentAt: flight.sentAt)
        }
        let (says, renewal) = world.gateways[place].own.take(
            lease: options.lease, renews: true, at: world.moment)
        let reads = world.gateways[place].known.take()
        guard !says.isEmpty || !reads.isEmpty || renewal != .none else { return }
        let call = PresenceCall(
            gateway: world.gateways[place].name, number: world.gateways[place].own.number,
            era: world.gateways[place].own.era, renewal: renewal, says: says, reads: reads,
            lease: options.lease, grace: options.grace, retain: options.retain)
        for saying in says where saying.ended != nil {
            world.gateways[place].acknowledged.remove(saying.user.id)
        }
        let delay = world.chance(30) ? Int64(world.random.next() % 4) * step : 0
        if world.chance(2) {
            // It waits on its way, while the gateway gives it up.
            world.late.append((call, world.now + Int64(world.random.next() % 40) * step))
            world.note("\(call.gateway): call \(call.number) is late")
            world.gateways[place].flight = (call, nil, world.now + delay, world.now)
        } else {
            let reading = world.execute(call)
            // An answer may be lost on its way.
            let answer = world.chance(2) ? nil : reading
            world.gateways[place].flight = (call, answer, world.now + delay, world.now)
        }
        if delay == 0, let flight = world.gateways[place].flight {
            world.gateways[place].flight = nil
            take(&world, place, call, flight.answer, sentAt: world.now)
        }
    }

    private static func take(
        _ world: inout World, _ place: Int, _ call: PresenceCall, _ reading: PresenceReading?,
        sentAt: Int64
    ) {
        guard let reading else {
            world.gateways[place].own.failed()
            world.gateways[place].known.failed(call.reads)
            return
        }
        world.gateways[place].answeredAt = sentAt
        world.gateways[place].own.answered(
            reading, renewal: call.renewal, sentAt: Timestamp(milliseconds: sentAt))
        for saying in call.says where saying.ended == nil {
            world.gateways[place].acknowledged.insert(saying.user.id)
        }
        for user in world.gateways[place].known.took(
            reading, call.reads, options.rule, at: world.moment)
        { world.gateways[place].watching.note(user) }
    }

    /// The watcher is told what may be told, and the promise is checked: nobody is told absent of
    /// who was there throughout.
    private static func tell(_ world: inout World, _ place: Int) {
        guard world.gateways[place].isLinked, world.gateways[place].watching.nextAt <= world.moment
        else { return }
        let changes = world.gateways[place].watching.take(
            world.gateways[place].known, interval: options.interval, at: world.moment)
        for shown in changes {
            world.tellings[shown.state, default: 0] += 1
            guard shown.state == .absent else { continue }
            for gateway in world.gateways where gateway.vouches(for: shown.user.id) {
                world.fault =
                    world.fault
                    ?? "\(world.now): \(shown.user) is told absent, who is at \(gateway.name)"
            }
        }
    }

    private static func pass(_ world: inout World, remembers: Bool) {
        let due = world.late.filter { $0.at <= world.now }
        world.late.removeAll { $0.at <= world.now }
        for (call, _) in due { _ = world.execute(call) }
        for place in world.gateways.indices {
            tell(&world, place)
            ask(&world, place)
            tell(&world, place)
        }
        for place in world.gateways.indices { world.gateways[place].settle(at: world.now) }
        if remembers { world.origin.remember() }
        world.now += step
    }

    private static func run(_ seed: UInt64) -> World {
        var world = World(random: SplitMix(state: seed))
        for tick in 0..<480 where world.fault == nil {
            disturb(&world)
            pass(&world, remembers: tick % 2 == 0)
        }
        return world
    }

    @Test func nobodyIsToldAbsentOfWhoIsThere() {
        var tellings: [PresenceState: Int] = [:]
        for seed in 1...400 as ClosedRange<UInt64> {
            let world = Self.run(seed)
            tellings.merge(world.tellings) { $0 + $1 }
            if let fault = world.fault {
                Issue.record("seed \(seed): \(fault)\n\(world.trace.suffix(20))")
                return
            }
        }
        for state in PresenceState.allCases {
            #expect(tellings[state, default: 0] > 1000, "\(tellings)")
        }
    }

    /// When nothing happens for long enough, each watcher was told of each user as they are.
    @Test func whatIsToldComesToBeWhatIs() {
        for seed in 1...100 as ClosedRange<UInt64> {
            var world = Self.run(seed)
            for place in world.gateways.indices where !world.gateways[place].isLinked {
                Self.link(&world, place, true)
            }
            for _ in 0..<600 { Self.pass(&world, remembers: false) }
            for user in Self.users {
                let here = world.gateways.flatMap { $0.connections[user] ?? [] }
                let state: PresenceState =
                    here.contains(.present) ? .present : here.contains(.away) ? .away : .absent
                for gateway in world.gateways {
                    #expect(gateway.known.current(user)?.state == state, "seed \(seed)")
                    #expect(!gateway.watching.hasPending, "seed \(seed)")
                }
            }
        }
    }

    // MARK: - One gateway

    private static func reading(
        _ era: String, renewed: Bool, at now: Int64 = 0
    ) -> PresenceReading {
        PresenceReading(
            now: now, era: era, eraBegan: 0, isYoungUntil: 0, isRenewed: renewed, leases: [:],
            users: [:])
    }

    private static func moment(_ now: Int64) -> Timestamp { Timestamp(milliseconds: now) }

    /// Clients that change their minds all the time don't keep the others from being said, nor the
    /// lease from being renewed.
    @Test func whoTogglesDoesNotStarveTheLease() {
        var own = OwnPresence()
        let crowd = (0..<1200).map { "c\($0)".id }
        for user in crowd {
            own.move(user, from: nil, to: .present, linger: 0, at: Self.moment(0))
        }
        var now: Int64 = 0
        var said = 0
        var isAway = [false, false]
        /// One call, which an origin of that era answers.
        func turn(_ era: String) -> PresenceCall.Renewal {
            now += 50
            for place in 0..<2 {
                let (from, to): (ConnectionPresence, ConnectionPresence) =
                    isAway[place] ? (.away, .present) : (.present, .away)
                own.move(crowd[place], from: from, to: to, linger: 0, at: Self.moment(now))
                isAway[place].toggle()
            }
            own.advance(to: Self.moment(now))
            let (says, renewal) = own.take(lease: 15_000, renews: true, at: Self.moment(now))
            said += says.count
            let isRenewed = renewal != .none && (own.era == era || renewal == .whole)
            own.answered(
                Self.reading(era, renewed: isRenewed), renewal: renewal,
                sentAt: Self.moment(now))
            return renewal
        }
        for _ in 0..<3 { _ = turn("one") }
        #expect(own.isHeld)
        while own.isHeld { _ = turn("two") }
        said = 0
        // One more second at most: who was said just now is not said again before.
        for _ in 0..<24 where !own.isHeld { _ = turn("two") }
        #expect(own.isHeld)
        #expect(said >= 1200)
    }

    /// At most one write for a user and second, also of who leaves and comes at once.
    @Test func nobodyIsSaidTwiceInASecond() {
        var own = OwnPresence()
        let user = "u".id
        var isHere = false
        var last: Int64 = -1000
        for now in stride(from: 0, to: 20_000, by: 100) as StrideTo<Int64> {
            own.move(
                user, from: isHere ? .present : nil, to: isHere ? nil : .present, linger: 0,
                at: Self.moment(now))
            isHere.toggle()
            own.advance(to: Self.moment(now))
            let (says, renewal) = own.take(lease: 15_000, renews: true, at: Self.moment(now))
            if !says.isEmpty {
                #expect(now - last >= OwnPresence.pace)
                last = now
            }
            own.answered(
                Self.reading("one", renewed: renewal != .none), renewal: renewal,
                sentAt: Self.moment(now))
        }
        #expect(last > 15_000)
    }

    /// After a time without users and watchers the lease is over: the first user is said with its
    /// renewal, once.
    @Test func whoComesToAnIdleGatewayIsSaidOnce() {
        var own = OwnPresence()
        let first = own.take(lease: 1000, renews: true, at: Self.moment(0))
        #expect(first.renewal == .whole)
        own.answered(
            Self.reading("one", renewed: true), renewal: .whole, sentAt: Self.moment(0))
        own.move("u".id, from: nil, to: .present, linger: 0, at: Self.moment(90_000))
        let next = own.take(lease: 1000, renews: true, at: Self.moment(90_000))
        #expect(next.renewal == .allSaid && next.says.count == 1)
    }

    // MARK: - One watcher

    /// Users of conversation `c`, as somebody who takes part in it watches them.
    private static func scope(
        _ watching: PresenceWatching, _ members: [String], limit: Int
    ) -> PresenceWatching.Scope {
        var rooms = PresenceRooms()
        rooms.hold("c".id, by: 1)
        rooms.check("c".id)
        _ = rooms.take()
        rooms.answered("c".id, Set((members + ["w"]).map(\.id)), at: moment(0))
        var scope = watching.scope(of: caller, rooms)
        scope.cut(to: limit)
        return scope
    }

    @Test func aNewcomerPushesNobodyOut() {
        var watching = PresenceWatching(
            [PresenceWatch(conversation: "c")], after: 0, 0, at: Self.moment(0))
        _ = watching.adopt(Self.scope(watching, ["y", "z"], limit: 3))
        let known = KnownPresence()
        _ = watching.answer(known)
        let (begun, ended) = watching.adopt(Self.scope(watching, ["a", "y", "z"], limit: 3))
        #expect(begun.isEmpty && ended.isEmpty)
        // With a lower limit some are left out, and nobody is told absent.
        let (_, out) = watching.adopt(Self.scope(watching, ["y", "z"], limit: 2))
        #expect(out.count == 1)
        let told = watching.take(known, interval: 1000, at: Self.moment(5000))
        #expect(!told.contains { $0.state == .absent })
    }

    /// A call is answered by a reading that was asked for after it began, whatever rings meanwhile.
    @Test func whoChangesAllTheTimeDelaysNoAnswer() {
        var known = KnownPresence()
        known.watch("u".id, by: 1)
        let call = known.call
        #expect(known.take() == ["u"] && !known.answers("u".id, after: call))
        known.ask("u".id)
        _ = known.took(
            Self.reading("one", renewed: true), ["u"], PresenceRule(lease: 1000, grace: 1000),
            at: Self.moment(0))
        #expect(known.current("u".id) == nil && known.answers("u".id, after: call))
        // To a call that came later, that reading is no answer.
        #expect(!known.answers("u".id, after: known.call))
    }

    /// Of a room that no holder was in it is not kept who is; somebody who holds it later may be.
    @Test func whoIsInIsNotTakenForAStrangerWhereItIsNotKept() {
        var rooms = PresenceRooms()
        rooms.hold("c".id, by: 1)
        rooms.check("c".id)
        _ = rooms.take()
        rooms.answered("c".id, ["w".id], at: Self.moment(0))
        rooms.empty("c".id)
        #expect(rooms["c".id]?.members == [])
        let watching = PresenceWatching(
            [PresenceWatch(conversation: "c", users: ["u"])], after: rooms.turn, 0,
            at: Self.moment(0))
        rooms.hold("c".id, by: 2)
        // The origin can't say who takes part: the user may be there.
        #expect(watching.scope(of: "w".id, rooms).unsure == ["u".id])
    }

    /// Others use the origin, too.
    @Test func roomsAreAskedFiftyAtOnce() {
        var rooms = PresenceRooms()
        let all = (0..<120).map { "c\($0)".id }
        for room in all {
            rooms.hold(room, by: 1)
            rooms.check(room)
        }
        var asked = rooms.take()
        #expect(asked.count == 50 && rooms.take().isEmpty)
        rooms.answered(asked[0], [], at: Self.moment(0))
        asked += rooms.take()
        #expect(asked.count == 51)
        while asked.count < all.count {
            for room in asked { rooms.answered(room, [], at: Self.moment(0)) }
            asked += rooms.take()
        }
        #expect(Set(asked) == Set(all))
    }

    /// A call is answered by what was asked after it began, however often that changes.
    @Test func aRoomThatChangesAllTheTimeAnswersItsCalls() {
        var rooms = PresenceRooms()
        rooms.hold("c".id, by: 1)
        rooms.check("c".id)
        #expect(rooms.take() == ["c".id])
        // A call begins while it is asked: it needs the next answer.
        let turn = rooms.turn
        rooms.check("c".id)
        rooms.changed("c".id)
        #expect(rooms.take() == [])
        rooms.answered("c".id, [], at: Self.moment(0))
        #expect(!rooms.isCurrent("c".id, after: turn))
        #expect(rooms.take() == ["c".id])
        rooms.changed("c".id)
        rooms.answered("c".id, [], at: Self.moment(10))
        #expect(rooms.isCurrent("c".id, after: turn))
        // And changes are followed at a pace.
        rooms.advance(to: Self.moment(500), interval: 1000)
        #expect(rooms.take() == [])
        rooms.advance(to: Self.moment(1010), interval: 1000)
        #expect(rooms.take() == ["c".id])
    }
}
