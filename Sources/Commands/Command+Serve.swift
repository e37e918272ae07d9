import Configuration
import Gateway

/// `serve`, `version`, and what all commands that read a configuration share.
extension Command {
    static let serve = Command(
        name: "serve", summary: "run the gateway (the default)",
        details: """
            Runs until SIGTERM or SIGINT, which drain it; a second one stops it at once. SIGHUP
            reads the file again and says what changed. Without a file it runs on its defaults: its
            own backend, in gapless.db, for this machine only.
            """,
        options: configurationOptions
    ) { arguments, console throws(CommandError) in
        let overrides = try overrides(arguments, console.environment)
        let file = arguments["config"]
        do throws(ConfigurationError) {
            let configuration = try Configuration.load(file: file, overrides: overrides)
            return Gateway.serve(configuration, configurationFile: file, overrides: overrides)
        } catch {
            // Who reads lines of JSON reads nothing else.
            guard error.log.format == .json else { throw .failure(error.description) }
            Gateway.refuse(error)
            return 1
        }
    }

    static let version = Command(
        name: "version", summary: "print the version and the commit"
    ) { _, console throws(CommandError) in
        console.write("\(Release.name) \(Release.version) (\(Release.commit))\n")
        return 0
    }

    /// The options that a configuration is read from.
    static let configurationOptions: [Option] = [
        Option(name: "config", value: "FILE", help: "the configuration, JSON5 (gapless genconfig)"),
        Option(
            name: "set", value: "KEY=VALUE", help: "set one key, over file and environment",
            repeats: true),
    ]

    /// The environment, and each `--set`.
    /// - Throws: `CommandError.usage` for one without `=`.
    static func overrides(
        _ arguments: Arguments, _ environment: [String: String]
    ) throws(CommandError) -> ConfigurationOverrides {
        var overrides = ConfigurationOverrides(environment: environment)
        for text in arguments.all("set") {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw .usage("--set takes KEY=VALUE")
            }
            overrides.settings.append(
                Setting(key: String(parts[0]), value: .word(String(parts[1])), place: .flag))
        }
        return overrides
    }

    /// The configuration from file, environment and flags.
    /// - Parameter isServed: whether what a gateway would not use is a problem.
    /// - Throws: `CommandError.failure` with all problems, a line each.
    static func configuration(
        _ arguments: Arguments, _ overrides: ConfigurationOverrides, isServed: Bool = true
    ) throws(CommandError) -> Configuration {
        do throws(ConfigurationError) {
            return try Configuration.load(
                file: arguments["config"], overrides: overrides, isServed: isServed)
        } catch {
            throw .failure(error.description)
        }
    }
}
