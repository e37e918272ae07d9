import Chat
import Ports
import Rules
import Testing
import Wire

@testable import Engine

/// An origin of presence in memory, as `Sources/Ports/Presence.swift` describes it: the model that
/// the machines are driven against. It can lose its last seconds, start anew, and be emptied.
private struct ModelOrigin {
    private struct Data {
        var entries: [ID: [String: PresenceEntry]] = [:]
        var leases: [String: Int64] = [:]
        /// The process that the data was last used by, and since when.
        var process = -1
        var began: Int64 = 0
    }

    private var data = Data()
    private var process = 0
    private var history: [Data] = []

    /// A second is over.
    mutating func remember() {
        history.append(data)
        if history.count > 5 { history.removeFirst() }
    }

    /// Another process takes over, which lacks what was written in the last seconds.
    mutating func failOver(losing seconds: Int) {
        process += 1
        if history.count > seconds { data = history[history.count - 1 - seconds] }
    }

    mutating func empty() { data = Data() }

    mutating func answer(_ call: PresenceCall, at now: Int64) -> PresenceReading {
        if data.process != process {
            data.process = process
            data.began = now
        }
        for saying in call.says {
            data.entries[saying.user.id, default: [:]][call.gateway] = PresenceEntry(
                gateway: call.gateway, isAway: saying.isAway, since: now - saying.begun, said: now,
                end: saying.ended.map { .init(at: now - $0, until: now + saying.lasts) })
        }
        let era = "\(process)-\(data.began)"
        let isHeld = data.leases[call.gateway].map { $0 + call.lease >= now } ?? false
        let isRenewed =
            switch call.renewal {
            case .none: false
            case .ifHeld: isHeld && era == call.era
            case .allSaid: era == call.era
            case .whole: true
            }
        if isRenewed { data.leases[call.gateway] = now }
        var users: [ID: [PresenceEntry]] = [:]
        for user in call.reads {
            users[user.id] = (data.entries[user.id] ?? [:]).values.map { entry in
                var entry = entry
                entry.renewed = data.leases[entry.gateway]
                return entry
            }
        }
        return PresenceReading(
            now: now, era: era, eraBegan: data.began, isYoungUntil: data.began + call.lease,
            isRenewed: isRenewed, leases: data.leases, users: users)
    }
}

/// The machines of presence against an adversary: gateways die and are cut off, the origin fails
/// over, users come and go; and what a watcher is told, against a model that says who is there.
@Suite struct PresenceMachineTests {
    private static let options = {
        var options = PresenceOptions()
        options.lease = 15_000
        options.linger = 10_000
        options.grace = 60_000
        return options
    }()
    private static let users = ["u0", "u1", "u2"].map(\.id)
    private static let step: Int64 = 500

    /// A gateway: its machines, its link, and its connections.
    private struct Gateway {
        var name: String
        var own = OwnPresence()
        var known = KnownPresence()
        var isLinked = true
        var unlinkedSince: Int64?
        /// How each connection is there, by user.
        var connections: [ID: [ConnectionPresence]] = [:]
        /// Since when the user has been here without a break, and not hidden.
        var hereSince: [ID: Int64] = [:]
        /// Those whom the origin has acknowledged.
        var acknowledged: Set<ID> = []
        /// When it had last been without the origin for as long as a lease holds.
        var lastLongCut: Int64 = -1

        init(_ name: String) {
            self.name = name
            for user in users { known.watch(user, by: 1) }
        }

        func isHere(_ user: ID) -> Bool {
            connections[user]?.contains { $0 != .hidden } ?? false
        }

        mutating func settle(at now: Int64) {
            for user in users {
                hereSince[user] = isHere(user) ? hereSince[user] ?? now : nil
            }
            if let unlinkedSince, now - unlinkedSince >= options.lease { lastLongCut = now }
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
        var gateways = [Gateway("a"), Gateway("b")]
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

    private static func change(_ world: inout World, _ place: Int, _ user: ID, ends: Bool) {
        guard let before = world.gateways[place].connections[user]?.last else { return }
        let after: ConnectionPresence? =
            ends ? nil : ConnectionPresence.allCases.randomElement(using: &world.random)
        world.gateways[place].connections[user]?.removeLast()
        if let after { world.gateways[place].connections[user]?.append(after) }
        world.gateways[place].own.move(
            user, from: before, to: after, linger: options.linger, at: world.moment)
        world.note(
            "\(user.text) at \(world.gateways[place].name): \(before) to"
                + " \(after.map { "\($0)" } ?? "none")")
    }

    private static func disturb(_ world: inout World) {
        let place = Int(world.random.next() % 2)
        let user = users[Int(world.random.next() % 3)]
        if world.chance(4) { connect(&world, place, user) }
        if world.chance(5) { change(&world, place, user, ends: true) }
        if world.chance(2) { change(&world, place, user, ends: false) }
        if world.chance(0.6) {
            world.gateways[place].isLinked.toggle()
            let isLinked = world.gateways[place].isLinked
            world.gateways[place].unlinkedSince = isLinked ? nil : world.now
            if isLinked { world.gateways[place].known.askAll() }
            world.note("\(world.gateways[place].name) is \(isLinked ? "linked" : "cut off")")
        }
        if world.chance(0.2) {
            world.births += 1
            world.note("\(world.gateways[place].name) dies")
            world.gateways[place] = Gateway("g\(world.births)")
        }
        if world.chance(0.3) {
            let lost = Int(world.random.next() % 4)
            world.origin.failOver(losing: lost)
            world.note("the origin fails over and loses \(lost) s")
        }
        if world.chance(0.05) {
            world.origin.empty()
            world.note("the origin is emptied")
        }
    }

    /// One gateway asks the origin, as `Presence` does.
    private static func ask(_ world: inout World, _ place: Int) {
        guard world.gateways[place].isLinked else { return }
        world.gateways[place].own.advance(to: world.moment)
        world.gateways[place].known.advance(to: world.moment)
        // A doorbell may be lost, and who is read may be read again.
        if world.chance(70) { world.gateways[place].known.askAll() }
        let (says, renewal) = world.gateways[place].own.take(
            lease: options.lease, renews: true, at: world.moment)
        let reads = world.gateways[place].known.take()
        guard !says.isEmpty || !reads.isEmpty || renewal != .none else { return }
        let call = PresenceCall(
            gateway: world.gateways[place].name, era: world.gateways[place].own.era,
            renewal: renewal, says: says, reads: reads, lease: options.lease,
            grace: options.grace, retain: options.retain)
        let reading = world.origin.answer(call, at: world.now)
        for saying in says where saying.ended != nil {
            world.gateways[place].acknowledged.remove(saying.user.id)
        }
        // An answer may be lost on its way.
        if world.chance(2) {
            world.gateways[place].own.failed()
            world.gateways[place].known.failed(reads)
            return
        }
        world.gateways[place].own.answered(reading, renewal: renewal, sentAt: world.moment)
        for saying in says where saying.ended == nil {
            world.gateways[place].acknowledged.insert(saying.user.id)
        }
        _ = world.gateways[place].known.took(reading, reads, options.rule, at: world.moment)
        for user in reads {
            guard let shown = world.gateways[place].known.shown(user.id) else { continue }
            world.tellings[shown.state, default: 0] += 1
            judge(&world, shown)
        }
    }

    /// The promise: nobody is told absent of who was there throughout.
    private static func judge(_ world: inout World, _ shown: UserPresence) {
        guard shown.state == .absent else { return }
        for gateway in world.gateways where gateway.vouches(for: shown.user.id) {
            world.fault = world.fault ?? "\(shown.user) is told absent, who is at \(gateway.name)"
        }
    }

    private static func run(_ seed: UInt64) -> World {
        var world = World(random: SplitMix(state: seed))
        for tick in 0..<480 {
            disturb(&world)
            for place in world.gateways.indices { ask(&world, place) }
            for place in world.gateways.indices { world.gateways[place].settle(at: world.now) }
            if tick % 2 == 0 { world.origin.remember() }
            world.now += step
            if world.fault != nil { break }
        }
        return world
    }

    @Test func nobodyIsToldAbsentOfWhoIsThere() {
        var tellings: [PresenceState: Int] = [:]
        for seed in 1...300 as ClosedRange<UInt64> {
            let world = Self.run(seed)
            tellings.merge(world.tellings) { $0 + $1 }
            if let fault = world.fault {
                Issue.record("seed \(seed): \(fault)\n\(world.trace.suffix(20))")
                return
            }
        }
        for state in PresenceState.allCases { #expect(tellings[state, default: 0] > 1000) }
    }

    private static func at(_ second: Int64) -> Timestamp { Timestamp(milliseconds: second * 1000) }

    private static func reading(
        at second: Int64, era: String = "e", isRenewed: Bool = true
    ) -> PresenceReading {
        PresenceReading(
            now: second * 1000, era: era, eraBegan: 0, isYoungUntil: 0, isRenewed: isRenewed,
            leases: [:], users: [:])
    }

    /// One write of a user each second, none of who is back within the linger, and one lease.
    @Test func aGatewayWritesNoMoreThanItMust() {
        var own = OwnPresence()
        let user = "ann".id
        func take(_ second: Int64) -> (says: [PresenceSaying], renewal: PresenceCall.Renewal) {
            own.advance(to: Self.at(second))
            let taken = own.take(lease: 15_000, renews: true, at: Self.at(second))
            if !taken.says.isEmpty || taken.renewal != .none {
                own.answered(
                    Self.reading(at: second), renewal: taken.renewal, sentAt: Self.at(second))
            }
            return taken
        }
        own.move(user, from: nil, to: .present, linger: 10_000, at: Self.at(0))
        let first = take(0)
        #expect(first.says == [PresenceSaying(user: "ann", isAway: false, begun: 0)])
        #expect(first.renewal == .whole)
        #expect(take(1).says.isEmpty)
        #expect(own.take(lease: 15_000, renews: true, at: Self.at(4)).renewal == .none)
        #expect(take(5).renewal == .ifHeld)
        // Within a second of the last word nothing is said.
        own.move(user, from: .present, to: .away, linger: 10_000, at: Self.at(6))
        #expect(take(6).says.map(\.isAway) == [true])
        let soon = Timestamp(milliseconds: 6_500)
        own.move(user, from: .away, to: .present, linger: 10_000, at: soon)
        #expect(own.take(lease: 15_000, renews: true, at: soon).says.isEmpty)
        #expect(take(7).says == [PresenceSaying(user: "ann", isAway: false, begun: 500)])
        own.move(user, from: .present, to: nil, linger: 10_000, at: Self.at(8))
        own.move(user, from: nil, to: .present, linger: 10_000, at: Self.at(17))
        #expect(take(17).says.isEmpty)
        own.move(user, from: .present, to: .hidden, linger: 10_000, at: Self.at(20))
        #expect(take(29).says.isEmpty && !own.isEmpty)
        #expect(
            take(30).says
                == [PresenceSaying(user: "ann", isAway: false, begun: 23_500, ended: 10_000)])
        #expect(own.isEmpty && own.isSaid)
    }

    /// A lease that lapsed, and another origin: all are said before the lease is renewed.
    @Test func allAreSaidBeforeALeaseIsRenewedAgain() {
        var own = OwnPresence()
        for user in Self.users {
            own.move(user, from: nil, to: .present, linger: 10_000, at: Self.at(0))
        }
        _ = own.take(lease: 15_000, renews: true, at: Self.at(0))
        own.answered(Self.reading(at: 0), renewal: .whole, sentAt: Self.at(0))
        let late = own.take(lease: 15_000, renews: true, at: Self.at(60))
        #expect(late.says.isEmpty && late.renewal == .ifHeld)
        own.answered(
            Self.reading(at: 60, isRenewed: false), renewal: .ifHeld, sentAt: Self.at(60))
        #expect(!own.isHeld)
        let again = own.take(lease: 15_000, renews: true, at: Self.at(60))
        #expect(again.says.count == 3 && again.renewal == .allSaid)
        own.answered(Self.reading(at: 60), renewal: .allSaid, sentAt: Self.at(60))
        own.answered(Self.reading(at: 61, era: "f"), renewal: .none, sentAt: Self.at(61))
        let anew = own.take(lease: 15_000, renews: true, at: Self.at(61))
        #expect(own.era == "f" && anew.says.count == 3 && anew.renewal == .allSaid)
    }

    /// The end of a connection to a gateway that stops is said at once, with its linger from where
    /// the client was told to come back.
    @Test func aGatewayThatStopsSaysHowLongItLasts() {
        var own = OwnPresence()
        own.move("ann".id, from: nil, to: .present, linger: 10_000, at: Self.at(0))
        _ = own.take(lease: 15_000, renews: true, at: Self.at(0))
        own.answered(Self.reading(at: 0), renewal: .whole, sentAt: Self.at(0))
        own.leave()
        own.move(
            "ann".id, from: .present, to: nil, linger: 10_000, returnsAt: Self.at(7),
            at: Self.at(5))
        own.advance(to: Self.at(5))
        #expect(
            own.take(lease: 15_000, renews: true, at: Self.at(5)).says
                == [
                    PresenceSaying(
                        user: "ann", isAway: false, begun: 5_000, ended: 0, lasts: 12_000)
                ])
    }

    /// When nothing happens for long enough, each gateway shows each user as they are.
    @Test func whatIsShownComesToBeWhatIs() {
        for seed in 1...100 as ClosedRange<UInt64> {
            var world = Self.run(seed)
            for place in world.gateways.indices {
                world.gateways[place].isLinked = true
                world.gateways[place].known.askAll()
            }
            for _ in 0..<400 {
                for place in world.gateways.indices { Self.ask(&world, place) }
                world.now += Self.step
            }
            for user in Self.users {
                let here = world.gateways.flatMap { $0.connections[user] ?? [] }
                let state: PresenceState =
                    here.contains(.present) ? .present : here.contains(.away) ? .away : .absent
                for gateway in world.gateways {
                    #expect(gateway.known.shown(user)?.state == state, "seed \(seed)")
                }
            }
        }
    }
}
