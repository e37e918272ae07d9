import Commands
import Postgres
import TestSupport
import Testing

/// `gapless postgres`, as somebody types it.
@Suite(.serialized) struct PostgresCommandTests {
    @Test("prints the schema, and nothing else")
    func prints() {
        let test = TestConsole()
        #expect(test.run("postgres", "schema") == 0)
        #expect(test.output == Schema().text)
        #expect(test.complaints.isEmpty)
    }

    @Test(
        "refuses what it does not know",
        arguments: [
            ([], "postgres takes one of: schema, install, check, upgrade"),
            (["instal"], "postgres takes one of: schema, install, check, upgrade"),
            (["schema", "check"], "postgres takes one of"),
            (["install"], "--url is missing"),
            (["schema", "--url", "x"], "postgres schema takes no --url"),
        ] as [([String], String)])
    func misuse(arguments: [String], text: String) {
        let test = TestConsole()
        #expect(Program.run(["postgres"] + arguments, console: test.console) == 2)
        #expect(test.complaints.contains(text))
    }

    @Test("installs, checks and goes up, and says what is wrong")
    func works() throws {
        let server = try PostgresProcess.shared()
        let url = server.url(try server.makeDatabase())
        // The exit code, and what was said.
        func run(_ verb: String) -> String {
            let test = TestConsole()
            let code = Program.run(["postgres", verb, "--url", url], console: test.console)
            return "\(code) \(test.output)\(test.complaints)"
        }
        #expect(run("check").hasPrefix("1 missing: schema gapless (gapless postgres install"))
        #expect(run("upgrade").contains("gapless postgres install does that"))
        #expect(run("install") == "0 schema gapless is at version 2\n")
        // The shared server of the tests does not sync.
        #expect(run("check").hasPrefix("1 dangerous: fsync is off"))
        #expect(run("check").filter(\.isNewline).count == 1)
        #expect(run("upgrade") == "0 schema gapless is at version 2\n")
        let test = TestConsole()
        #expect(
            test.run("postgres", "check", "--url", "postgresql://127.0.0.1:1/x") == 1)
        #expect(test.complaints.contains("connection to server at \"127.0.0.1\""))
    }
}
