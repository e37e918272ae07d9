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
            Reads what serve would read, with the same environment and flags, and exits with 1 if
            serve would not start with it. Says which keys differ from their defaults.
            """,
        options: configurationOptions
    ) { arguments, console throws(CommandError) in
        let overrides = try overrides(arguments, console.environment)
        let configuration = try configuration(arguments, overrides)
        _ = try credentials(configuration)
        for path in [configuration.listen.tls.certificate, configuration.listen.tls.key] {
            if let path, access(path, R_OK) != 0 {
                throw .failure("listen.tls: \(path) can't be read (errno \(errno))")
            }
        }
        console.write("the configuration is valid\n")
        for change in Configuration().changes(to: configuration) {
            console.write("  \(change.key): \(change.after)\n")
        }
        return 0
    }

    /// What the files of `auth` hold.
    /// - Throws: `CommandError.failure` with everything that is wrong with them.
    static func credentials(_ configuration: Configuration) throws(CommandError) -> Credentials {
        do throws(ConfigurationError) {
            return try Credentials(configuration.auth)
        } catch {
            throw .failure(error.description)
        }
    }
}
