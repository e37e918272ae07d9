import Chat
import Crypto
import Engine
import Wire

/// Identifies clients: by name in open mode, by token otherwise. A value, made at the start and at
/// each reload.
struct TokenAuthenticator: Authenticator {
    /// nil in open mode.
    let verifier: TokenVerifier?
    /// The clock that tokens are checked against; the engine's may differ from it.
    var timeOfDay: @Sendable () -> Timestamp = { SteadyClock.timeOfDay() }

    func identify(
        token: String?, user: String?, at now: Timestamp
    ) -> Result<Identity, Refusal> {
        guard let verifier else { return open(user) }
        guard let token else { return .failure(.refused("missing")) }
        do {
            let verified = try verifier.verify(token.utf8, at: timeOfDay())
            return .success(
                Identity(
                    user: verified.user, expires: verified.expires, deadline: verified.deadline))
        } catch .expired {
            return .failure(.expired)
        } catch {
            return .failure(.refused(error.reason))
        }
    }

    private func open(_ user: String?) -> Result<Identity, Refusal> {
        guard let user else {
            return .failure(
                .request(
                    RequestError(
                        .fieldMissing, "params.user: missing, needed where auth.mode is open")))
        }
        guard Identifier.isValid(user) else {
            return .failure(
                .request(
                    .invalid(
                        "params.user: 1–255 bytes of UTF-8 without control characters are accepted")
                ))
        }
        return .success(Identity(user: user))
    }
}
