import Configuration
import Crypto
import Engine

/// Who may come in, by the configuration as it was reloaded last: the rules for connections, for
/// the server API and for the internal listener. Lives on the loop.
final class Entrance {
    private(set) var configuration: Configuration
    private(set) var credentials: Credentials
    private(set) var door: Door
    private(set) var internalRule: InternalRule
    private let log: Logger

    init(_ configuration: Configuration, _ credentials: Credentials, _ log: Logger) {
        self.configuration = configuration
        self.credentials = credentials
        self.log = log
        door = Door(configuration, credentials, log)
        internalRule = InternalRule(configuration.listen, credentials)
    }

    /// Applies a reload.
    func adopt(_ configuration: Configuration, _ credentials: Credentials) {
        self.configuration = configuration
        self.credentials = credentials
        internalRule = InternalRule(configuration.listen, credentials)
    }

    /// Replaces the rules for new connections, on all loops: after a reload, or when a drain
    /// begins.
    /// - Parameter wait: while draining, milliseconds until a gateway may be reached again.
    func renewDoor(drainedIn wait: Int64?, for sides: WorkerLoops?) {
        door = Door(configuration, credentials, log)
        door.reopensAt = wait.map { ContinuousClock.now + .milliseconds($0) }
        sides?.show(door)
    }
}
