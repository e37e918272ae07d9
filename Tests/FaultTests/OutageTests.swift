import TestSupport
import Testing

extension Faults {
    /// Each way in which the link can die, under a stream of lines, edits and deletes: everybody is
    /// whole or told at every moment, nothing comes twice, and readiness says what is.
    @Suite struct Outages {
        @Test(arguments: Faults.outages)
        func everybodyIsWholeOrToldThrough(_ outage: Outage) throws {
            var row = Figures()
            for run in 0..<Faults.scale {
                try pass(outage, seed: Faults.seed(UInt64(100 + run)), &row)
            }
            row.report(outage.rawValue)
        }

        private func pass(_ outage: Outage, seed: UInt64, _ row: inout Figures) throws {
            let redis = try LinkedRedis()
            let world = try World(
                World.Plan(near: redis.linkedSettings, far: redis.directSettings), seed: seed)
            let place: Comment = "\(outage.rawValue), seed \(seed)"
            _ = try world.live(.milliseconds(800)) { false }
            let isBegun = try world.live(.seconds(20), until: world.present())
            #expect(isBegun, "\(place): not whole before it began")
            try world.whisper()
            try world.changeLists()
            let before = try world.gateways.map { try $0.fetches() }

            let began = ContinuousClock.now
            try outage.begin(redis)
            if outage.isOfTheLink {
                try world.whisper()
                try world.changeLists()
            }
            let noticed = try detect(outage, world, since: began, place)
            row.detection = max(row.detection, noticed)
            if !outage.isMomentary {
                try world.moveSome()
                _ = try world.live(world.pause())
            }
            try outage.end(redis)
            let ended = ContinuousClock.now
            if outage.isMomentary { try world.moveSome() }
            let isBack = try world.live(.seconds(30), until: world.present())
            #expect(isBack, "\(place): not back")
            row.recovery = max(row.recovery, ContinuousClock.now - ended)
            for (gateway, earlier) in zip(world.gateways, before) {
                try row.noteFetches(gateway, since: earlier)
            }
            try judge(world, after: outage, place, &row)
        }

        /// - Returns: How long it took until readiness was refused, or where that is too short to
        ///   be seen, until a client was told.
        private func detect(
            _ outage: Outage, _ world: World, since began: ContinuousClock.Instant,
            _ place: Comment
        ) throws -> Duration {
            guard outage.breaksFeeds else { return .zero }
            let hit = outage.isOfTheLink ? [world.near] : world.gateways
            let ports = hit.map(\.port)
            let watchers = world.watchers.filter { ports.contains($0.client.port) }
            let probers =
                outage.isOfTheLink
                ? [world.nearProber] : [world.nearProber, world.farProber]
            let limit = Faults.deadline + Faults.margin
            let isNoticed = try world.live(limit) {
                watchers.allSatisfy { $0.alarm(after: began) != nil }
                    && (!outage.showsInReadiness
                        || probers.allSatisfy { $0.refusal(after: began) != nil })
            }
            #expect(isNoticed, "\(place): not noticed in \(limit.text) s")
            let moments =
                watchers.compactMap { $0.alarm(after: began) }
                + (!outage.showsInReadiness ? [] : probers.compactMap { $0.refusal(after: began) })
            return (moments.max() ?? .now) - began
        }

        private func judge(
            _ world: World, after outage: Outage, _ place: Comment, _ row: inout Figures
        ) throws {
            let truths = try world.settle()
            for (id, truth) in truths {
                #expect(truth.log?.unknownChanges == [], "\(place): \(id)")
            }
            var faults = world.watchers.flatMap { $0.judge(truths) }
            faults += world.retired.flatMap { $0.judgeOnTheWay(truths) }
            faults += try world.judgeLists() + world.judgeGateways()
            #expect(faults.isEmpty, "\(place): \(faults.prefix(10).joined(separator: "\n"))")
            try row.noteEnd(world, truths, faults)
        }
    }
}
