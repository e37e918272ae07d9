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
        noteCache()
        guard let replica else { return }
        if cache.isWritable, let failure = replica.checkpointFailure {
            log.error("checkpoint of the cache failed", ["error": "\(failure)"])
            wroteCache(failure)
            note(failure)
        }
        if !cache.isWritable {
            guard (try? replica.probe()) != nil else { return }
            wroteCache(nil)
        }
        do {
            if replica.isTidyingDue, let trimmed = try replica.tidy(at: timeOfDay) {
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
        let blocked = engine.sockets.blockedSessions()
        if let sides { sides.probe(blocked.filter(sides.serves)) }
        for session in blocked where sides?.serves(session) != true {
            let bytes = server.acknowledgedBytes(SocketID(rawValue: session))
            acknowledged[session] = bytes
            if let earlier = before[session], bytes > earlier {
                engine.sockets.progressed(
                    session, unsent: server.unsentBytes(SocketID(rawValue: session)), at: now())
            }
        }
    }

    /// The file took what it was given, or did not.
    /// - Parameter failure: why not, nil if it did.
    func wroteCache(_ failure: (any Error)?) {
        if let failure {
            cache.fail("\(failure)", at: now())
        } else {
            cache.succeed(at: now())
        }
        noteCache()
    }

    /// A file that can't be written is told at once, and every minute while that lasts.
    func noteCache() {
        switch cache.look(at: now()) {
        case .lost(let seconds):
            log.error(
                "cache can't be written",
                [
                    "path": configuration.cache.path, "error": cache.failure,
                    "for_s": "\(seconds)",
                    "remedy": "look at its disk: full, read-only, or failing; it is tried again "
                        + "every second",
                ])
        case .back: log.info("cache is writable again")
        case nil: break
        }
    }

    /// Looks whether the error says that the cache must be filled anew.
    func note(_ error: any Error) {
        guard replica != nil, let error = error as? CacheError, error.code == .damaged else {
            return
        }
        onDamage?()
        onDamage = nil
    }
}
