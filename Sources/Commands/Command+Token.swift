import Chat
import Configuration
import Crypto
import Wire

/// The commands about tokens: `gentoken`, `checktoken`.
extension Command {
    static let gentoken = Command(
        name: "gentoken", summary: "make a token for a user",
        details: """
            Signs with --private-key-file, --secret-file, or auth.jwt.secret_file of the
            configuration; issuer and audience come from there too. Prints the token.
            """,
        options: [
            Option(name: "user", value: "USER", help: "the user, the claim sub"),
            Option(name: "ttl", value: "DURATION", help: "how long it is good (1h)"),
            Option(name: "secret-file", value: "FILE", help: "sign with this secret (HS256)"),
            Option(
                name: "private-key-file", value: "FILE",
                help: "sign with this key, PEM (RS256, ES256 or EdDSA)"),
            Option(name: "kid", value: "ID", help: "the key id to name in the token"),
        ] + configurationOptions
    ) { arguments, console throws(CommandError) in
        let user = try arguments.required("user")
        guard Identifier.isValid(user) else {
            throw .usage("--user takes 1 to 255 bytes without control characters")
        }
        let longest: Milliseconds = 3650 * 86_400_000
        let lifetime = try arguments.value(
            "ttl", default: 3_600_000, accepted: "a duration from 1s to 3650d"
        ) { text in Words.duration(text).flatMap { (1000...longest).contains($0) ? $0 : nil } }
        let overrides = try overrides(arguments, console.environment)
        let jwt = try configuration(arguments, overrides).auth.jwt
        let now = console.now()
        let claims = TokenSigner.Claims(
            user: user, issuedAt: now,
            expires: Timestamp(milliseconds: now.milliseconds + lifetime),
            issuer: jwt.issuer, audience: jwt.audience)
        do {
            let key = try signingKey(arguments, jwt)
            console.write(try TokenSigner(key: key, keyID: arguments["kid"]).token(claims) + "\n")
            return 0
        } catch let error as CommandError {
            throw error
        } catch {
            throw .failure("\(error)")
        }
    }

    static let checktoken = Command(
        name: "checktoken", summary: "check a token as the gateway would",
        details: """
            Reads the token from standard input, so that no other process sees it, and checks it
            with the keys and rules of the configuration. Exits with 1 if it is not good.
            """,
        options: configurationOptions
    ) { arguments, console throws(CommandError) in
        let overrides = try overrides(arguments, console.environment)
        let configuration = try configuration(arguments, overrides)
        guard let verifier = try credentials(configuration).verifier else {
            throw .failure("auth.mode is open: no token is checked")
        }
        let input: [UInt8]
        do throws(FileError) {
            input = try Files.read("-", limit: 1 << 20)
        } catch {
            throw .failure(error.description)
        }
        let token = input.split { [0x0A, 0x0D, 0x20, 0x09].contains($0) }.first ?? []
        do throws(TokenError) {
            let verified = try verifier.verify(token, at: console.now())
            console.write("good: user \(quoted(verified.user)), expires \(verified.expires)\n")
            return 0
        } catch {
            let verdict = error == .expired ? "expired" : "refused"
            throw .failure("\(verdict): \(error.reason)")
        }
    }

    private static func signingKey(
        _ arguments: Arguments, _ jwt: Configuration.Auth.JWT
    ) throws -> TokenSigner.Key {
        let limit = 1 << 20
        let secret = arguments["secret-file"]
        if let path = arguments["private-key-file"] {
            guard secret == nil else {
                throw CommandError.usage("--secret-file and --private-key-file exclude each other")
            }
            return .privateKey(try PrivateKey(pem: Files.read(path, limit: limit)))
        }
        guard let path = secret ?? jwt.secretFile else {
            throw CommandError.usage(
                "no key to sign with (--secret-file, --private-key-file, or auth.jwt.secret_file)")
        }
        return .secret(try VerificationKey.secret(ofFile: Files.read(path, limit: limit)))
    }
}
