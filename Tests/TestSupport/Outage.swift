import Glibc

/// The ways in which a gateway and its Redis can lose each other.
package enum Outage: String, CaseIterable, Sendable {
    case killed = "server killed"
    case cut = "link cut"
    case refused = "link refused"
    case stalled = "link stalled"
    case flapping = "link flapping"
    case feedsKilled = "CLIENT KILL pubsub"
    case commandsKilled = "CLIENT KILL normal"
    case paused = "CLIENT PAUSE"
    case stopped = "server stopped"

    /// It is over at once, and the gateway comes back as fast as it can.
    package var isMomentary: Bool {
        switch self {
        case .cut, .feedsKilled, .commandsKilled: true
        case .killed, .refused, .stalled, .flapping, .paused, .stopped: false
        }
    }

    /// The feed is down for long enough that somebody who asks readiness now and then sees it.
    package var showsInReadiness: Bool { !isMomentary && self != .flapping }

    /// It is the way of one gateway that fails, not the server of both.
    package var isOfTheLink: Bool {
        switch self {
        case .cut, .refused, .stalled, .flapping: true
        case .killed, .feedsKilled, .commandsKilled, .paused, .stopped: false
        }
    }

    /// The feed breaks, so that everybody has to be told.
    package var breaksFeeds: Bool { self != .commandsKilled }

    /// Milliseconds: longer than it may take to be noticed.
    private static let pause = 3500

    /// - Throws: `TestFailure`.
    package func begin(_ redis: LinkedRedis) throws {
        let (redis, proxy) = (redis.server, redis.proxy)
        switch self {
        case .killed: redis.kill()
        case .cut: proxy.cut()
        case .refused: proxy.set(.refusing)
        case .stalled: proxy.set(.stalled)
        case .flapping: proxy.set(.flapping)
        case .feedsKilled: try redis.ask("CLIENT", "KILL", "TYPE", "pubsub")
        case .commandsKilled: try redis.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        case .paused: try redis.ask("CLIENT", "PAUSE", "\(Self.pause)", "ALL")
        case .stopped: redis.send(SIGSTOP)
        }
    }

    /// - Throws: `TestFailure`.
    package func end(_ redis: LinkedRedis) throws {
        let (redis, proxy) = (redis.server, redis.proxy)
        switch self {
        case .killed: try redis.restart()
        case .refused, .stalled, .flapping: proxy.set(.open)
        // A server that is paused takes nothing, not even the command that would end it.
        case .paused: try redis.ask("PING")
        case .stopped: redis.send(SIGCONT)
        case .cut, .feedsKilled, .commandsKilled: break
        }
    }
}
