import Configuration
import Dispatch
import Synchronization
import Upstream
import Wire

/// `gapless enable`: notes at the origin that only gateways of this version share it.
package enum OriginEnabling {
    /// Notes it in the configured origin.
    /// - Returns: what was done, as text for the operator.
    /// - Throws: `OriginFailure`.
    package static func run(_ configuration: Configuration) throws(OriginFailure) -> String {
        switch configuration.upstream.kind {
        case .embedded: return "the embedded log is shared with nobody: nothing to do"
        case .redis: try enable(try Redis(of: configuration))
        case .postgres: try enable(try PostgresUpstream(of: configuration))
        }
        return "enabled up to version \(EnabledVersion.present) of the protocol"
    }

    private static func enable(_ origin: some EnablingOrigin) throws(OriginFailure) {
        try origin.whileOnline { () throws(OriginFailure) in
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
                throw OriginFailure(error, of: origin)
            }
        }
    }
}
