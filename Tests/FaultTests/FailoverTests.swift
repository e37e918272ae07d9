import TestSupport
import Testing

extension Faults {
    /// A master ends under a stream of lines, edits and deletes, with the last of what it had
    /// acknowledged, and another server takes its place. What was lost is found; nobody goes on
    /// holding it, and what was not lost nobody loses.
    @Suite struct Failovers {
        @Test(arguments: Faults.failovers)
        func whatIsLostIsFoundAndNothingFalseIsServed(_ failover: Failover) throws {
            var row = Figures()
            var totals = Totals()
            for run in 0..<Faults.scale {
                let seed = Faults.seed(UInt64(500 + run))
                // Sentinels take ten seconds until they make the old master a replica.
                try pass(failover, seed: seed, heals: run % 4 == 0, &row, &totals)
            }
            row.report(
                failover.rawValue,
                " | changes lost \(totals.lost), acknowledged \(totals.acknowledged)"
                    + " | logs cut \(totals.cut), of a new epoch \(totals.forked)"
                    + " | resets \(totals.resets)")
        }

        /// What was lost, over the runs of one kind.
        private struct Totals {
            var lost = 0
            var acknowledged = 0
            var cut = 0
            var forked = 0
            var resets = 0
        }

        private func pass(
            _ failover: Failover, seed: UInt64, heals: Bool, _ row: inout Figures,
            _ totals: inout Totals
        ) throws {
            let place: Comment = "\(failover.rawValue), seed \(seed)"
            let servers = try failover.servers()
            let plan = World.Plan(
                near: servers.settings, far: servers.settings, groups: servers.groups,
                quiet: servers.quiet, expectsLosses: true)
            let world = try World(plan, seed: seed)
            _ = try world.live(.milliseconds(800))
            #expect(
                try world.live(.seconds(20), until: world.present()),
                "\(place): not whole before it began")
            try world.whisper()
            try world.changeLists()
            _ = try world.live(.milliseconds(200))
            let before = try world.gateways.map { try $0.fetches() }

            world.ledger.doubt()
            try servers.beginLosing()
            try world.whisper()
            try world.changeLists()
            _ = try world.live(.milliseconds(300))
            let began = ContinuousClock.now
            try servers.fail()
            let noticed = try detect(failover, servers, world, since: began, place)
            row.detection = max(row.detection, noticed)
            if failover == .nodeKilled { try expectUndisturbed(world, servers, place) }
            try world.moveSome()
            try comeBack(servers, world, since: began, place, &row)
            let first = try servers.successor()
            for (gateway, earlier) in zip(world.gateways, before) {
                try row.noteFetches(gateway, since: earlier)
            }
            let left = try left(servers)
            if heals { try heal(servers, world, place) }
            guard try servers.successor()?.settings == first?.settings else {
                throw TestFailure("\(place): a second failover, which loses more than is judged")
            }
            try judge(world, servers, left, place, &row, &totals)
        }

        // MARK: the end of the master

        /// - Returns: How long it took until everybody was told and readiness refused, from the
        ///   moment on when the link broke, or somebody else was named the master.
        private func detect(
            _ failover: Failover, _ servers: any FailingServers, _ world: World,
            since began: ContinuousClock.Instant, _ place: Comment
        ) throws -> Duration {
            var began = began
            if failover.isBeside {
                let isNamed = try world.live(.seconds(30)) { try hasSuccessor(servers) }
                #expect(isNamed, "\(place): nobody took the place")
                // Each gateway hears of it by itself, perhaps before us.
                began = .now
            }
            let limit = Faults.deadline + Faults.margin
            let since = began - limit
            let probers = [world.nearProber, world.farProber]
            // A gateway that is led away from a master that still answers is with the next one
            // within milliseconds: clients are told of that, but a look every 15 ms may miss it.
            let isBrief = failover.isBeside
            let isNoticed = try world.live(limit) {
                // To make one takes the test longer than it may take to notice.
                if servers.isElecting { _ = try hasSuccessor(servers) }
                return world.watchers.allSatisfy { $0.alarm(after: since) != nil }
                    && (isBrief || probers.allSatisfy { $0.refusal(after: since) != nil })
            }
            #expect(isNoticed, "\(place): not noticed in \(limit.text) s")
            let moments =
                world.watchers.compactMap { $0.alarm(after: since) }
                + probers.compactMap { $0.refusal(after: since) }
            return max(.zero, (moments.max() ?? .now) - began)
        }

        /// Whether a server has taken the place of the master. From then on no second one does: a
        /// machine that is slow for a second must not turn one failover into two.
        private func hasSuccessor(_ servers: any FailingServers) throws -> Bool {
            guard try servers.successor() != nil else { return false }
            try servers.hold()
            return true
        }

        /// What lies at the other masters goes on while nobody has taken the place of the dead one.
        private func expectUndisturbed(
            _ world: World, _ servers: any FailingServers, _ place: Comment
        ) throws {
            let others = servers.groups[1]
            let stands = world.watchers.map { watcher in
                others.map { watcher.client.holder($0).asOf }
            }
            var isAway = false
            let goOn = try world.live(.seconds(20)) {
                isAway = try servers.successor() == nil
                return zip(world.watchers, stands).allSatisfy { watcher, stands in
                    zip(others, stands).allSatisfy {
                        !watcher.conversations.contains($0) || watcher.client.holder($0).asOf > $1
                    }
                }
            }
            #expect(goOn && isAway, "\(place): the other shards did not go on")
            for watcher in world.watchers {
                let disturbed = watcher.client.recording.filter { step in
                    guard case .received(let frame) = step,
                        others.contains(frame["conversation"].string ?? "")
                    else { return false }
                    return ["gap", "reset", "unsubscribed"].contains(frame["event"])
                        || frame["open"] == true
                }
                #expect(disturbed.isEmpty, "\(place): \(watcher.client.user)")
            }
        }

        private func comeBack(
            _ servers: any FailingServers, _ world: World, since began: ContinuousClock.Instant,
            _ place: Comment, _ row: inout Figures
        ) throws {
            let isReady = try world.live(.seconds(60)) {
                try hasSuccessor(servers)
                    && [world.nearProber, world.farProber].allSatisfy { $0.status == 200 }
            }
            #expect(isReady, "\(place): not ready again")
            world.ledger.trust()
            let isBack = try world.live(.seconds(30), until: world.present())
            #expect(isBack, "\(place): not back: \(world.stragglers([:]))")
            row.recovery = max(row.recovery, ContinuousClock.now - began)
        }

        // MARK: what was lost

        /// What the old master has, read by a gateway that knows no other.
        private func left(_ servers: any FailingServers) throws -> [String: LostEnds.Left] {
            let leftover = try servers.leftover()
            let gateway = try GatewayProcess(
                settings: Faults.settings.merging(leftover.settings) { $1 })
            let api = gateway.api()
            let ids = servers.groups[0] + [servers.quiet]
            return Dictionary(
                uniqueKeysWithValues: try ids.map { id in
                    let marks = try leftover.marks(id)
                    return (id, LostEnds.Left(truth: try api.learnChanges(of: id), marks: marks))
                })
        }

        /// The old master comes back, throws away what it alone had, and that changes nothing.
        private func heal(
            _ servers: any FailingServers, _ world: World, _ place: Comment
        ) throws {
            try servers.heal()
            let isHealed = try world.live(.seconds(60)) { servers.isHealed() }
            #expect(isHealed, "\(place): the old master did not come back as a replica")
            let isBack = try world.live(.seconds(30), until: world.present())
            #expect(isBack, "\(place): not whole with the old master")
        }

        private func judge(
            _ world: World, _ servers: any FailingServers, _ left: [String: LostEnds.Left],
            _ place: Comment, _ row: inout Figures, _ totals: inout Totals
        ) throws {
            let kept = try world.settle()
            guard let successor = try servers.successor() else {
                throw TestFailure("nobody has taken the place of the master")
            }
            let marks = try Dictionary(
                uniqueKeysWithValues: left.keys.map { ($0, try successor.marks($0)) })
            let ends = try LostEnds(kept: kept, left: left, marks: marks, world.ledger)
            for (id, truth) in ends.truths {
                #expect(truth.log?.unknownChanges == [], "\(place): \(id)")
            }
            // Otherwise the run would show nothing.
            #expect(ends.cut.contains(servers.quiet) && ends.acknowledgedCount > 0, "\(place)")
            #expect(ends.forked.isSubset(of: ends.cut), "\(place): a new epoch without a loss")
            var faults = world.watchers.flatMap {
                $0.judgeOnTheWay(ends.oracles) + $0.judgeLists(ends.truths)
            }
            faults += world.retired.flatMap { $0.judgeOnTheWay(ends.oracles) }
            faults += try world.judgeLists() + world.judgeGateways()
            #expect(faults.isEmpty, "\(place): \(faults.prefix(10).joined(separator: "\n"))")
            totals.lost += ends.changeCount
            totals.acknowledged += ends.acknowledgedCount
            totals.cut += ends.cut.count
            totals.forked += ends.forked.count
            totals.resets += (world.watchers + world.retired).reduce(0) { $0 + $1.resets.count }
            try row.noteEnd(world, ends.truths, faults)
        }
    }
}
