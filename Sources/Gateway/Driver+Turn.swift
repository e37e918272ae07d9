import Cache
import Engine
import Ports
import Upstream
import WebSockets
import Wire

/// Carries out a turn's effects with sockets, the cache's file and the upstream.
extension Driver: TurnEffects {
    func moment() -> Moment { Moment(now: now(), instant: ContinuousClock.now - origin) }

    func perform(_ effect: Turn.UpstreamEffect) {
        switch effect {
        case .perform(let token, let operation, let caller):
            perform(operation, by: caller, token: token)
        case .publish(let event):
            upstream.publish(event)
        case .fetch(let token, let query):
            measurements.asked(token)
            calls.append(.ask(query, token: token))
        case .subscribe(let conversation):
            upstream.subscribe(conversation)
        case .unsubscribe(let conversation):
            upstream.unsubscribe(conversation)
        case .subscribeList(let user):
            upstream.subscribeList(of: user)
        case .unsubscribeList(let user):
            upstream.unsubscribeList(of: user)
        case .forkEpoch(let token, let head, let conversation):
            log.warning(
                "origin lost changes; clients load it again", ["conversation": conversation])
            upstream.forkEpoch(head, conversation: conversation, token: token)
        }
    }

    func store(_ token: UInt64, _ writes: [StoreWrite]) -> Bool {
        guard let replica else { return false }
        let began = ContinuousClock.now
        do {
            try replica.perform(writes, at: timeOfDay)
            measurements.committed(writes.count, since: began, isInFile: true)
            if !cache.isWritable, replica.checkpointFailure == nil { wroteCache(nil) }
            return true
        } catch {
            measurements.committed(writes.count, since: began, isInFile: false)
            log.error("write of the cache failed", ["error": "\(error)"])
            wroteCache(error)
            note(error)
            return false
        }
    }

    // MARK: - Reads

    func answer(_ read: CacheRead) -> Result<Answer, RequestError>? {
        self.read { try reader.answer(read.query) }
    }

    func beginSlow(_ read: CacheRead) { slowReads.begin(read) }

    func finished(_ read: CacheRead, flush sessions: [Session]) {
        if case .catchUp = read.query {
            measurements.replayed(in: ContinuousClock.now - origin - read.since)
        }
        guard !sessions.isEmpty else { return }
        _ = sides?.write(sessions, Self.writeSize)
        send(sessions)
    }

    // MARK: - Sockets

    func write(_ sessions: consuming [Session]) -> Duration? {
        let began = ContinuousClock.now
        // First, so that the other loops write in parallel.
        let elsewhere = sides?.write(sessions, Self.writeSize) ?? .zero
        send(consume sessions)
        // Pacing counts the cost on all cores.
        return ContinuousClock.now - began + elsewhere
    }

    func throttle(_ session: SessionID, _ isThrottled: Bool) {
        if let sides, sides.serves(session) { return sides.throttle(session, isThrottled) }
        server.throttle(SocketID(rawValue: session), isThrottled)
    }
}
