import TestSupport
import Testing

/// The ways in which gateways and their origin can lose each other, of which none takes anything
/// that the origin had.
protocol LosslessOutage: Sendable {
    associatedtype Origin: OutageOrigin
    /// What the table calls it.
    var title: String { get }
    /// It is over at once, and the gateway comes back as fast as it can.
    var isMomentary: Bool { get }
    /// It is the way of one gateway that fails, not the server of both.
    var isOfTheLink: Bool { get }
    /// The feed breaks, so that everybody has to be told.
    var breaksFeeds: Bool { get }
    /// The feed is down for long enough that somebody who asks readiness now and then sees it.
    var showsInReadiness: Bool { get }
    /// How long it may take until the last connection is back, which health names until then.
    var lastConnection: Duration { get }
    func origin() throws -> Origin
    /// What comes before it.
    /// - Returns: For how long everybody lives on until it begins.
    func prepare(_ origin: Origin) throws -> Duration
    func begin(_ origin: Origin) throws
    /// Whether it can be ended: what takes a time of its own is waited for.
    func isOver(_ origin: Origin) throws -> Bool
    func end(_ origin: Origin) throws
}

extension LosslessOutage {
    var breaksFeeds: Bool { true }
    var showsInReadiness: Bool { !isMomentary }
    var lastConnection: Duration { .zero }
    func prepare(_ origin: Origin) -> Duration { .zero }
    func isOver(_ origin: Origin) -> Bool { true }
}

/// An origin, and the way to it of one gateway that can fail.
protocol OutageOrigin: AnyObject {
    /// Of a gateway that goes by way of the proxy.
    var linkedSettings: [String: String] { get }
    /// Of a gateway whose link stays.
    var directSettings: [String: String] { get }
}

/// Runs of one outage: two gateways under a stream of lines, edits and deletes; everybody is whole
/// or told at every moment, nothing comes twice, and readiness says what is.
struct OutageRun<Kind: LosslessOutage> {
    let outage: Kind
    private var row = Figures()

    /// Runs it as often as the scale says, and reports what it came to.
    /// - Parameter seed: of the first run.
    static func all(_ outage: Kind, seed: Int) throws {
        var runs = OutageRun(outage: outage)
        for run in 0..<Faults.scale { try runs.pass(Faults.seed(UInt64(seed + run))) }
        runs.row.report(outage.title)
    }

    private init(outage: Kind) { self.outage = outage }

    private mutating func pass(_ seed: UInt64) throws {
        let origin = try outage.origin()
        let world = try World(
            World.Plan(near: origin.linkedSettings, far: origin.directSettings), seed: seed)
        let place: Comment = "\(outage.title), seed \(seed)"
        _ = try world.live(.milliseconds(800)) { false }
        let isBegun = try world.live(.seconds(20), until: world.present())
        #expect(isBegun, "\(place): not whole before it began")
        try world.whisper()
        try world.changeLists()
        let before = try world.gateways.map { try $0.fetches() }
        let lead = try outage.prepare(origin)
        if lead > .zero { _ = try world.live(lead) { false } }

        let began = ContinuousClock.now
        try outage.begin(origin)
        if outage.isOfTheLink {
            try world.whisper()
            try world.changeLists()
        }
        row.detection = max(row.detection, try detect(world, since: began, place))
        if !outage.isMomentary {
            try world.moveSome()
            _ = try world.live(world.pause())
        }
        let isOver = try world.live(.seconds(120)) { try outage.isOver(origin) }
        #expect(isOver, "\(place): does not end")
        try outage.end(origin)
        let ended = ContinuousClock.now
        if outage.isMomentary { try world.moveSome() }
        let isBack = try world.live(.seconds(30), until: world.present())
        #expect(isBack, "\(place): not back")
        row.recovery = max(row.recovery, ContinuousClock.now - ended)
        for (gateway, earlier) in zip(world.gateways, before) {
            try row.noteFetches(gateway, since: earlier)
        }
        try expectConnections(world, place)
        try judge(world, place)
    }

    /// - Returns: How long it took until readiness was refused, or where that is too short to be
    ///   seen, until a client was told.
    private func detect(
        _ world: World, since began: ContinuousClock.Instant, _ place: Comment
    ) throws -> Duration {
        guard outage.breaksFeeds else { return .zero }
        let hit = outage.isOfTheLink ? [world.near] : world.gateways
        let ports = hit.map(\.port)
        let watchers = world.watchers.filter { ports.contains($0.client.port) }
        let probers =
            outage.isOfTheLink ? [world.nearProber] : [world.nearProber, world.farProber]
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

    private func expectConnections(_ world: World, _ place: Comment) throws {
        guard outage.lastConnection > .zero else { return }
        let isWell = try world.live(outage.lastConnection) {
            try world.gateways.allSatisfy { try $0.health().json["status"] == "ok" }
        }
        #expect(isWell, "\(place): a connection is not back")
    }

    private mutating func judge(_ world: World, _ place: Comment) throws {
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
