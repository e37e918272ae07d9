import Cache
import Chat
import Configuration
import Engine
import Ports
import SQLite
import WebSockets

/// Periodic checks: clocks, file descriptors, the cache's file, and blocked sockets.
extension Driver {
    /// Logs a jump of the time of day, once. It does no harm: order follows the monotonic clock.
    func lookAtClocks() {
        if let jump = clock.look() {
            log.warning(
                "clock jumped",
                ["by_ms": "\(jump)", "remedy": "tokens are judged by it: keep it right by NTP"])
        }
        engine.adopt(timeOfDayAhead: clock.ahead)
    }

    /// Logs refused connections (no file descriptors left) at once, then every minute while the
    /// shortage lasts.
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

    /// Probes whether the file can be written: a gateway that is not ready gets no traffic, and
    /// without traffic it would never learn that it can write again.
    func probeCache() {
        noteCache()
        guard let replica else { return }
        do {
            try replica.look()
        } catch {
            return wroteCache(error)
        }
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
            if error.isOfTheDisk { wroteCache(error) }
            note(error)
        }
    }

    /// A blocked socket is slow, not gone, as long as its peer acknowledges bytes: looks once a
    /// second.
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

    /// Records the result of a write to the cache's file.
    /// - Parameter failure: the error; nil if the write succeeded.
    func wroteCache(_ failure: (any Error)?) {
        if let failure {
            let remedy = (failure as? CacheError)?.remedy ?? CacheError.remedyOfTheDisk
            cache.fail("\(failure)", remedy: remedy, at: now())
        } else {
            cache.succeed(at: now())
        }
        noteCache()
    }

    /// Logs a file that can't be written at once, then every minute while that lasts.
    func noteCache() {
        switch cache.look(at: now()) {
        case .lost(let seconds):
            log.error(
                "cache can't be written",
                [
                    "path": configuration.cache.path, "error": cache.failure,
                    "for_s": "\(seconds)", "remedy": cache.remedy,
                ])
        case .back: log.info("cache is writable again")
        case nil: break
        }
    }

    /// Starts a new cache if the error says that this one is damaged.
    func note(_ error: any Error) {
        guard replica != nil, let error = error as? CacheError, error.code == .damaged else {
            return
        }
        onDamage?()
        onDamage = nil
    }
}
