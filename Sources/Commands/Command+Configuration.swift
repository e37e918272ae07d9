import Configuration
import Gateway
import Glibc

/// The commands about the configuration: `genconfig`, `checkconfig`, `configdoc`.
extension Command {
    static let genconfig = Command(
        name: "genconfig", summary: "write a configuration with every key and its default",
        details: "Writes to standard output: gapless genconfig > gapless.json5"
    ) { _, console throws(CommandError) in
        console.write(ConfigurationText.file())
        return 0
    }

    static let configdoc = Command(
        name: "configdoc", summary: "write the reference of all keys, in Markdown"
    ) { _, console throws(CommandError) in
        console.write(ConfigurationText.reference())
        return 0
    }

    static let checkconfig = Command(
        name: "checkconfig", summary: "check a configuration and the files that it names",
        details: """
            Does all that serve does before it serves, with the same environment and flags, and
            exits with 1 if serve would not start. A gateway that runs with this configuration
            keeps its file and its ports. Says which keys differ from their defaults, and on
            standard error what serve would warn of.
            """,
        options: configurationOptions
    ) { arguments, console throws(CommandError) in
        let overrides = try overrides(arguments, console.environment)
        let configuration = try configuration(arguments, overrides)
        let problems = Preflight.problems(configuration)
        guard problems.isEmpty else { throw .failure(problems.joined(separator: "\n")) }
        for warning in Preflight.warnings(configuration) {
            console.complain("gapless checkconfig: warning: \(warning.text)\n")
        }
        console.write("the configuration is valid\n")
        for change in Configuration().changes(to: configuration) {
            console.write("  \(change.key): \(change.after)\n")
        }
        return 0
    }

    /// The keys in the files of `auth`.
    /// - Throws: `CommandError.failure` with all problems.
    static func credentials(_ configuration: Configuration) throws(CommandError) -> Credentials {
        do throws(ConfigurationError) {
            return try Credentials(configuration.auth, configuration.listen)
        } catch {
            throw .failure(error.description)
        }
    }
}
