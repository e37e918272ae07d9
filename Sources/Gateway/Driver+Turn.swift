import Cache
import Engine
import Ports
import WebSockets
import Wire

/// Carries out a turn's effects with sockets, the cache's file and the upstream.
extension Driver: TurnEffects {
    func moment() -> Moment { Moment(now: now(), instant: instruments.clock.instant) }

    func usage() -> ThreadUsage { .current() }

    func perform(_ call: UpstreamCall) { calls.append(call) }

    func handOver() { calls.handOver() }

    func askAtOnce() -> Bool {
        let outputs = calls.askAtOnce()
        guard !outputs.isEmpty else { return false }
        deliver(outputs, since: .now)
        return true
    }

    func store(_ token: UInt64, _ writes: [StoreWrite]) -> Bool { cache.write(writes) }

    // MARK: - Reads

    func answer(_ read: CacheRead) -> Result<Answer, RequestError>? { cache.answer(read.query) }

    func beginSlow(_ read: CacheRead) { slowReads.begin(read) }

    func finished(_ read: CacheRead, flush sessions: [Session]) {
        if case .catchUp = read.query {
            instruments.measurements.replayed(in: instruments.clock.instant - read.since)
        }
        if !sessions.isEmpty { _ = output.write(sessions) }
    }

    // MARK: - Sockets

    func write(_ sessions: consuming [Session]) -> Duration? { output.write(consume sessions) }

    func throttle(_ session: SessionID, _ isThrottled: Bool) {
        output.throttle(session, isThrottled)
    }

    func close(_ session: SessionID, _ code: CloseCode) { output.close(session, code) }
}
