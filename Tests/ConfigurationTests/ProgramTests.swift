import Chat
import Crypto
@testable import Commands
@testable import Configuration
@testable import Gateway
import Testing

/// The command line: what goes where, and with which exit code.
@Suite struct ProgramTests {
    private let directory = Result { try TemporaryDirectory() }
    private let secret = "0123456789abcdef0123456789abcdef\n"

    @Test func helpNamesEachCommand() {
        let test = TestConsole()
        #expect(test.run("--help") == 0)
        for command in Program.commands {
            #expect(test.output.contains("\n  \(command.name) "))
        }
        #expect(test.complaints.isEmpty)
    }

    @Test(arguments: Program.commands.map(\.name))
    func eachCommandHasHelpThatNamesItsOptions(_ name: String) throws {
        let command = try #require(Program.commands.first { $0.name == name })
        let test = TestConsole()
        #expect(Program.run([name, "--help", "--nonsense"], console: test.console) == 0)
        #expect(test.output.hasPrefix("usage: gapless \(name)"))
        for option in command.options { #expect(test.output.contains("  --\(option.name)")) }
        #expect(test.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test(arguments: [
        (["serv"], "no command \"serv\" (did you mean serve?)"),
        (["chekconfig"], "no command \"chekconfig\" (did you mean checkconfig?)"),
        (["zzz"], "no command \"zzz\"\n"),
        (["--confg", "x"], "serve has no option --confg (did you mean --config?)"),
        (["checkconfig", "-c", "x"], "checkconfig has no option -c"),
        (["checkconfig", "--config"], "--config takes a value"),
        (["checkconfig", "--config", "a", "--config=b"], "--config is given twice"),
        (["checkconfig", "--set", "limits"], "--set takes KEY=VALUE"),
        (["checkconfig", "--set", "=1"], "--set takes KEY=VALUE"),
        (["checkconfig", "file"], "checkconfig takes no operand: \"file\""),
        (["version", "--", "--help"], "version takes no operand: \"--help\""),
        (["gentoken"], "--user is missing"),
        (["gentoken", "--user", "a\u{7}"], "--user takes 1 to 255 bytes"),
        (["gentoken", "--user", "a"], "no key to sign with"),
        (["gentoken", "--user", "a", "--ttl", "1"], "--ttl: \"1\" is not accepted"),
        (
            ["gentoken", "--user", "a", "--secret-file", "s", "--private-key-file", "p"],
            "--secret-file and --private-key-file exclude each other"
        ),
        (["replay"], "replay takes at least one file"),
        (["replay", "a/x.txt", "b/x.txt"], "two files have the same name"),
        (["replay", "x", "--rate", "-1"], "--rate: \"-1\" is not accepted"),
        (["replay", "x", "--batch", "1001"], "--batch: \"1001\" is not accepted"),
        (["replay", "x", "--url", "host:80"], "--url: \"host:80\" is not accepted"),
        (["replay", "x", "--conversation", ""], "a conversation's id has 1 to 255 bytes"),
        (["replay", "x"], "--api-key-file is missing"),
    ])
    func misuseExitsWithTwo(_ arguments: [String], _ message: String) {
        let test = TestConsole()
        #expect(Program.run(arguments, console: test.console) == 2)
        #expect(test.complaints.hasPrefix("gapless: \(message)"), "\(test.complaints)")
        #expect(test.complaints.hasSuffix(" --help\n"))
        #expect(test.output.isEmpty)
    }

    @Test(arguments: [
        (["checkconfig", "--config", "/nowhere/x"], "gapless checkconfig: configuration: open"),
        (["checkconfig", "--set", "a=1"], "gapless checkconfig: --set: a: unknown key"),
        (["--set", "a=1"], "gapless serve: --set: a: unknown key"),
        (
            ["checkconfig", "--set", "auth.api_key_file=/nowhere/x"],
            "gapless checkconfig: configuration: auth.api_key_file: open /nowhere/x: No such"
        ),
        (
            [
                "checkconfig", "--set", "listen.tls.key=/nowhere/k", "--set",
                "listen.tls.certificate=/nowhere/c",
            ],
            "gapless checkconfig: loading TLS from /nowhere/c: No such file or directory"
        ),
        (["checktoken"], "gapless checktoken: auth.mode is open: no token is checked"),
        (
            ["gentoken", "--user", "a", "--secret-file", "/nowhere/x"],
            "gapless gentoken: open /nowhere/x: No such file or directory (errno 2)"
        ),
        (
            ["replay", "/nowhere/x", "--api-key-file", "/nowhere/k"],
            "gapless replay: open /nowhere/k: No such file or directory (errno 2)"
        ),
    ])
    func failureExitsWithOne(_ arguments: [String], _ message: String) {
        let test = TestConsole()
        #expect(Program.run(arguments, console: test.console) == 1)
        #expect(test.complaints.hasPrefix(message), "\(test.complaints)")
        #expect(test.output.isEmpty)
    }

    @Test func aGoodConfigurationIsSaidToBe() throws {
        let file = try directory.get().file("c.json5", "{limits: {connections: 7}}")
        let test = TestConsole(environment: ["GAPLESS_LOG_LEVEL": "debug"])
        #expect(test.run("checkconfig", "--config=\(file)") == 0)
        #expect(
            test.output == "the configuration is valid\n  limits.connections: 7\n"
                + "  log.level: \"debug\"\n")
    }

    @Test func whatIsGeneratedIsValid() throws {
        let generator = TestConsole()
        #expect(generator.run("genconfig") == 0)
        let file = try directory.get().file("c.json5", generator.output)
        let checker = TestConsole()
        #expect(checker.run("checkconfig", "--config", file) == 0)
        #expect(checker.output == "the configuration is valid\n")
    }

    @Test func versionIsOneLine() {
        let test = TestConsole()
        #expect(test.run("--version") == 0)
        #expect(test.output == "\(Release.name) \(Release.version) (\(Release.commit))\n")
    }

    @Test func aGeneratedTokenIsTakenByTheConfiguredVerifier() throws {
        let file = try directory.get().file("secret", secret)
        let settings = ["auth.mode=jwt", "auth.jwt.secret_file=\(file)", "auth.jwt.audience=chat"]
        let test = TestConsole()
        let flags = settings.flatMap { ["--set", $0] }
        let code = Program.run(
            ["gentoken", "--user", "né", "--ttl", "90s"] + flags, console: test.console)
        #expect(code == 0, "\(test.complaints)")
        var auth = Configuration().auth
        auth.mode = .jwt
        auth.jwt.secretFile = file
        auth.jwt.audience = "chat"
        let verifier = try #require(try Credentials(auth).verifier)
        let token = try #require(test.output.split(separator: "\n").first)
        let verified = try verifier.verify(token.utf8, at: test.console.now())
        #expect(verified.user == "né")
        #expect(verified.expires.milliseconds == 1_800_000_090_000)
    }

    @Test func eachBadSecretFileIsNamedByItsKeyAndNeverShown() throws {
        let directory = try directory.get()
        var auth = Configuration().auth
        auth.mode = .jwt
        auth.jwt.secretFile = try directory.file("secret", "-----BEGIN hunter2")
        auth.jwt.publicKeyFile = try directory.file("pem", "hunter2")
        auth.jwt.jwksFile = try directory.file("jwks", "{\"keys\": [\"hunter2\"]}")
        auth.apiKeyFile = try directory.file("keys", "hunter2 hunter3")
        let configured = auth
        let error = try #require(
            #expect(throws: ConfigurationError.self) { try Credentials(configured) })
        #expect(
            error.problems.map(\.key) == [
                "auth.jwt.secret_file", "auth.jwt.public_key_file", "auth.jwt.jwks_file",
                "auth.api_key_file",
            ])
        #expect(!error.description.contains("hunter2"))
    }

    @Test func anAlgorithmWithoutAKeyIsNamed() throws {
        var auth = Configuration().auth
        auth.mode = .jwt
        auth.jwt.secretFile = try directory.get().file("secret", secret)
        auth.jwt.algorithms = [.hs256, .es256]
        let configured = auth
        let error = #expect(throws: ConfigurationError.self) { try Credentials(configured) }
        #expect(
            error?.description
                == "configuration: auth.jwt.algorithms: ES256, but no key here is bound to it")
    }

    @Test func anOpenGatewayHasNoVerifierAndAClosedServerAPI() throws {
        let credentials = try Credentials(Configuration().auth)
        #expect(credentials.verifier == nil)
        #expect(credentials.apiKeys == nil)
    }
}
