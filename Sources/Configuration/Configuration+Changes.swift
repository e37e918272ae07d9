/// One key whose value a reload would change.
package struct ConfigurationChange: Sendable, Hashable, CustomStringConvertible {
    package let key: String
    /// Whether the change needs a restart; otherwise the reload applied it.
    package let needsRestart: Bool
    /// Values as in a file; secrets are not shown.
    package let before: String
    package let after: String

    /// `log.level: "info" -> "debug"`.
    package var description: String {
        "\(key): \(before) -> \(after)" + (needsRestart ? " (needs a restart)" : "")
    }
}

extension Configuration {
    /// What differs between this configuration and `next`, in the order of the keys.
    package func changes(to next: Configuration) -> [ConfigurationChange] {
        ConfigurationKey.all.filter { !$0.agrees(self, next) }.map { key in
            ConfigurationChange(
                key: key.name, needsRestart: !key.reloads,
                before: key.isSecret ? "(secret)" : key.literal(self),
                after: key.isSecret ? "(secret)" : key.literal(next))
        }
    }

    /// This configuration with the reloadable keys of `next`; keys that need a restart stay.
    /// - Throws: `ConfigurationError` if the two don't go together: a reload can't remove the last
    ///   key to check tokens with while `auth.mode` stays `jwt`, whatever `next` says.
    package func reloaded(with next: Configuration) throws(ConfigurationError) -> Configuration {
        var configuration = self
        for key in ConfigurationKey.all where key.reloads { key.copy(next, &configuration) }
        let problems = configuration.contradictions
        guard problems.isEmpty else { throw ConfigurationError(problems) }
        return configuration
    }
}
