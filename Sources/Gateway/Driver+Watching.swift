import Cache
import Chat
import Configuration
import Engine
import Ports
import SQLite
import WebSockets

/// What the driver looks at now and then: the clocks, the descriptors, the file, and sockets that
/// take nothing.
extension Driver {
    /// A time of day that jumps is said once, and harms nobody: order does not go by it.
    func lookAtClocks() {
        if let jump = clock.look() {
            log.warning(
                "clock jumped",
                ["by_ms": "\(jump)", "remedy": "tokens are judged by it: keep it right by NTP"])
        }
        engine.adopt(timeOfDayAhead: clock.ahead)
    }

    /// What is refused for want of descriptors is told at once, and every minute while it lasts.
    func noteShortage() {
        switch shortage.look(refused: server.refusedConnections, at: .now) {
        case .began(let count), .goesOn(let count):
            log.error(
                "descriptors ran out",
                [
                    "refused": "\(count)", "limit": "\(Process.descriptorLimit())",
                    "remedy": "raise LimitNOFILE (ulimit -n), or lower limits.connections",
                ])
        case .ended: log.info("descriptors suffice again")
        case nil: break
        }
    }

    /// Without this a gateway that is not ready gets no traffic, and without traffic it would never
    /// learn that it can write again.
    func probeCache() {
        guard let mirror else { return }
        if isWritable, let failure = mirror.checkpointFailure {
            log.error("checkpoint of the cache failed", ["error": "\(failure)"])
            wroteCache(failure)
            note(failure)
        }
        if !isWritable {
            guard (try? mirror.probe()) != nil else { return }
            wroteCache(nil)
        }
        do {
            if mirror.isTidyingDue, let trimmed = try mirror.tidy(at: timeOfDay) {
                let loaded = read { try reader.answer(.load(conversation: trimmed)) }
                engine.trimmed(trimmed, loaded, at: now())
            }
        } catch {
            log.error("tidying of the cache failed", ["error": "\(error)"])
            note(error)
        }
    }

    /// A blocked socket that still takes what was sent long ago is slow, not gone: what its kernel
    /// acknowledges counts, once a second.
    func noteProgress() {
        let before = acknowledged
        acknowledged.removeAll(keepingCapacity: true)
        let blocked = engine.blockedSessions()
        if let sides { sides.probe(blocked.filter(sides.serves)) }
        for session in blocked where sides?.serves(session) != true {
            let bytes = server.acknowledgedBytes(SocketID(rawValue: session))
            acknowledged[session] = bytes
            if let earlier = before[session], bytes > earlier {
                engine.progressed(
                    session, unsent: server.unsentBytes(SocketID(rawValue: session)), at: now())
            }
        }
    }

    /// The file can be written again, or can't any more.
    /// - Parameter failure: why, nil if it can.
    func wroteCache(_ failure: (any Error)?) {
        isWritable = failure == nil
        if let failure {
            log.error(
                "cache can't be written",
                ["path": configuration.cache.path, "error": "\(failure)"])
        } else {
            log.info("cache is writable again")
        }
    }

    /// Looks whether the error says that the cache must be filled anew.
    func note(_ error: any Error) {
        guard mirror != nil, let error = error as? CacheError, error.code == .damaged else {
            return
        }
        onDamage?()
        onDamage = nil
    }
}
