import Chat
import Configuration
import Crypto
import Gateway
import Glibc
import Wire

/// `init`: everything that a first gateway needs, in one folder.
extension Command {
    static let initialize = Command(
        name: "init", summary: "make a folder with a configuration, keys and a first conversation",
        operands: "[FOLDER]",
        details: """
            Makes FOLDER (gapless, if none is named), which must not be there yet, with
            gapless.json5, a secret that signs tokens, a key of the server API, and a log that has
            one conversation of alice and bob. Prints how to start the gateway, where its page is,
            and how a backend sends a message. It starts nothing.
            """,
        options: [
            Option(
                name: "public", value: "HOST:PORT", help: "where clients connect (127.0.0.1:8000)"),
            Option(
                name: "internal", value: "HOST:PORT",
                help: "where health and metrics are (127.0.0.1:9000)"),
        ]
    ) { arguments, console throws(CommandError) in
        guard arguments.operands.count <= 1 else { throw .usage("init takes one folder") }
        let folder = NewFolder(
            arguments.operands.first ?? "gapless", arguments["public"] ?? "127.0.0.1:8000",
            arguments["internal"] ?? "127.0.0.1:9000")
        try folder.make()
        let configuration: Configuration
        do throws(ConfigurationError) {
            configuration = try Configuration.load(
                file: folder.file("gapless.json5"),
                overrides: ConfigurationOverrides(environment: [:]))
        } catch {
            folder.remove()
            throw .usage(error.description)
        }
        do {
            try FirstConversation.write(
                "welcome", title: "Welcome", of: ["alice", "bob"],
                saying: "This message is in \(folder.file("gapless.db")).", to: configuration)
            console.write(try folder.guide(at: console.now()))
        } catch {
            throw .failure("\(error)")
        }
        return 0
    }
}

/// The folder that `init` makes.
private struct NewFolder {
    /// As it was typed.
    let name: String
    let `public`: String
    let `internal`: String

    init(_ name: String, _ `public`: String, _ `internal`: String) {
        self.name = name
        self.public = `public`
        self.internal = `internal`
    }

    /// How long the printed tokens are good.
    private static let lifetime: Milliseconds = 30 * 86_400_000

    /// The path of a file in it, from the root on once it is made.
    func file(_ file: String) -> String {
        guard let path = realpath(name, nil) else { return "\(name)/\(file)" }
        defer { free(path) }
        return "\(String(cString: path))/\(file)"
    }

    /// - Throws: `CommandError.failure`, if the folder is there, or can't be made.
    func make() throws(CommandError) {
        guard mkdir(name, 0o700) == 0 else {
            let reason =
                errno == EEXIST
                ? "it is there already; name one that is not" : String(cString: strerror(errno))
            throw .failure("make the folder \(name): \(reason)")
        }
        try write("token.secret", Random.hex(32) + "\n")
        try write("api.key", Random.hex(16) + "\n")
        try write("gapless.json5", text)
    }

    /// Removes what `make` made.
    func remove() {
        for file in ["token.secret", "api.key", "gapless.json5"] { unlink(self.file(file)) }
        rmdir(name)
    }

    private func write(_ file: String, _ text: String) throws(CommandError) {
        do throws(FileError) {
            try Files.create(self.file(file), Array(text.utf8))
        } catch {
            throw .failure(error.description)
        }
    }

    private var text: String {
        """
        // Made by gapless init. gapless genconfig shows every key with its default.
        {
          listen: {
            public: "\(`public`)",
            internal: "\(`internal`)",
          },
          auth: {
            mode: "jwt",
            // Backends send one of these keys as a bearer.
            api_key_file: "\(file("api.key"))",
            // Your backend signs a token for each user with this secret: gapless gentoken.
            jwt: { secret_file: "\(file("token.secret"))" },
          },
          // The log itself: back it up with gapless backup.
          cache: { path: "\(file("gapless.db"))" },
        }

        """
    }

    /// What to do next.
    func guide(at now: Timestamp) throws -> String {
        let secret = try Files.read(file("token.secret"), limit: 1 << 10)
        let signer = TokenSigner(key: .secret(try VerificationKey.secret(ofFile: secret)))
        func page(_ user: String) throws -> String {
            let claims = TokenSigner.Claims(
                user: user, issuedAt: now,
                expires: Timestamp(milliseconds: now.milliseconds + Self.lifetime))
            return "http://\(`public`)/?token=\(try signer.token(claims))"
        }
        return """
            \(name) has a configuration, its keys, and a log with one conversation.

            Start the gateway:
              gapless serve --config \(file("gapless.json5"))

            Open its page, as alice and in another browser as bob (tokens of 30 days):
              \(try page("alice"))
              \(try page("bob"))

            Send a message as a backend does:
              curl --header "Authorization: Bearer $(cat \(file("api.key")))" \\
                --data '{"author": "bob", "body": "Hello"}' \\
                http://\(`public`)/v1/conversations/welcome/messages

            """
    }
}
