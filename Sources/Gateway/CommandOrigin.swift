import Configuration
import Dispatch
import Engine
import Upstream
import Wire

/// Why an origin did not do what a command asked for.
package struct OriginFailure: Error {
    /// For the operator.
    package let text: String

    init(text: String) { self.text = text }

    /// The origin refused, or can't be asked.
    init(_ error: RequestError, of origin: some EnablingOrigin) {
        text = "\(error.message): \(origin.trouble?.text ?? "try again")"
    }

    /// Runs `body`; what it throws names this part of the configuration.
    fileprivate static func naming<Value>(
        _ key: String, _ body: () throws -> Value
    ) throws(OriginFailure) -> Value {
        do { return try body() } catch { throw OriginFailure(text: "\(key): \(error)") }
    }
}

extension EnablingOrigin {
    /// Starts, and runs `body` as soon as it is online; then stops.
    /// - Throws: `OriginFailure`, also where it is not online within 30 seconds.
    func whileOnline<Value>(
        _ body: () throws(OriginFailure) -> Value
    ) throws(OriginFailure) -> Value {
        let isOnline = DispatchSemaphore(value: 0)
        start { outputs in
            for case .state(.online) in outputs { isOnline.signal() }
        }
        defer { stop() }
        guard isOnline.wait(timeout: .now() + .seconds(30)) == .success else {
            throw OriginFailure(text: trouble?.text ?? "the origin can't be reached")
        }
        return try body()
    }
}

extension Redis {
    /// The configured one, for a command.
    convenience init(of configuration: Configuration) throws(OriginFailure) {
        self.init(
            try OriginFailure.naming("upstream.redis") {
                try RedisOptions(configuration, bytes: configuration.limits.reply)
            })
    }
}

extension PostgresUpstream {
    /// The configured one, for a command.
    convenience init(of configuration: Configuration) throws(OriginFailure) {
        self.init(
            try OriginFailure.naming("upstream.postgres") {
                try PostgresOptions(configuration, bytes: configuration.limits.reply)
            })
    }
}
