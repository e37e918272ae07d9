import Configuration
import Dispatch
import Engine
import Synchronization
import Upstream
import Wire

/// `gapless enable`: notes at the origin that only gateways of this version share it.
package enum OriginEnabling {
    /// Notes it in the configured origin.
    /// - Returns: what was done, as text for the operator.
    /// - Throws: `OriginFailure`.
    package static func run(_ configuration: Configuration) throws(OriginFailure) -> String {
        let origin: any EnablingOrigin
        switch configuration.upstream.kind {
        case .embedded: return "the embedded log is shared with nobody: nothing to do"
        case .redis:
            do {
                origin = Redis(try RedisOptions(configuration, bytes: configuration.limits.reply))
            } catch {
                throw OriginFailure(text: "upstream.redis: \(error)")
            }
        case .postgres:
            do {
                origin = PostgresUpstream(
                    try PostgresOptions(configuration, bytes: configuration.limits.reply))
            } catch {
                throw OriginFailure(text: "upstream.postgres: \(error)")
            }
        }
        let isOnline = DispatchSemaphore(value: 0)
        origin.start { outputs in
            for case .state(.online) in outputs { isOnline.signal() }
        }
        defer { origin.stop() }
        guard isOnline.wait(timeout: .now() + .seconds(30)) == .success else {
            throw OriginFailure(text: origin.trouble?.text ?? "the origin can't be reached")
        }
        let answered = DispatchSemaphore(value: 0)
        let answer = Mutex<Result<Void, RequestError>>(.failure(.originUnavailable))
        origin.enable { result in
            answer.withLock { $0 = result }
            answered.signal()
        }
        answered.wait()
        do throws(RequestError) {
            try answer.withLock { $0 }.get()
        } catch {
            throw OriginFailure(text: "\(error.message): \(origin.trouble?.text ?? "try again")")
        }
        return "enabled up to version \(EnabledVersion.present) of the protocol"
    }
}

/// Why an origin did not do what a command asked for.
package struct OriginFailure: Error {
    package let text: String
}
