/// One key of the configuration: the only place with its name, accepted values, meaning and whether
/// a reload applies it. Reading, checking, environment names, `genconfig`, `configdoc` and the list
/// of changes on a reload are derived from the keys.
package struct ConfigurationKey: Sendable {
    /// With its section: `limits.connections`.
    package let name: String
    /// Completes "accepted: …".
    package let accepted: String
    /// What it means, in full sentences.
    package let documentation: String
    /// Whether a reload applies it; otherwise it needs a restart.
    package let reloads: Bool

    /// Sets the key; false if the value is not accepted.
    let assign: @Sendable (SettingValue, inout Configuration) -> Bool
    /// The part of a value that is not accepted; nil: all of it.
    let fault: @Sendable (SettingValue) -> SettingValue?
    /// The key's value as JSON5.
    package let literal: @Sendable (Configuration) -> String
    /// The key's value, if it is a number: bytes, milliseconds or a count.
    package let number: @Sendable (Configuration) -> Int?
    /// Whether two configurations agree on it.
    package let agrees: @Sendable (Configuration, Configuration) -> Bool
    /// Copies the value from the first configuration to the second.
    let copy: @Sendable (Configuration, inout Configuration) -> Void
    /// Whether the value may hold a secret.
    let isSecret: Bool

    /// Declares a key. Its default is the value at `path` in `Configuration()`.
    init<Value>(
        _ name: String, _ path: any WritableKeyPath<Configuration, Value> & Sendable,
        _ kind: ValueKind<Value>, reloads: Bool = false, _ documentation: String
    ) {
        self.name = name
        self.documentation = documentation
        accepted = kind.accepted
        isSecret = kind.isSecret
        self.reloads = reloads
        assign = { value, configuration in
            if value == .null { return true }
            guard let read = kind.read(value) else { return false }
            configuration[keyPath: path] = read
            return true
        }
        fault = { kind.fault?($0) }
        literal = { kind.literal($0[keyPath: path]) }
        number = { configuration in
            let value = configuration[keyPath: path]
            return value as? Int ?? (value as? Milliseconds).map { Int($0) }
        }
        agrees = { $0[keyPath: path] == $1[keyPath: path] }
        copy = { $1[keyPath: path] = $0[keyPath: path] }
    }

    /// The prefix of our environment variables.
    package static let environmentPrefix = "GAPLESS_"

    /// `GAPLESS_LIMITS_CONNECTIONS`.
    package var environmentName: String { Self.environmentName(of: name) }

    static func environmentName(of name: String) -> String {
        environmentPrefix + String(name.uppercased().map { $0 == "." ? "_" : $0 })
    }

    /// The section that the key is in: `limits`.
    package var section: String { String(name[..<(name.lastIndex(of: ".") ?? name.startIndex)]) }
    /// The name inside its section: `connections`.
    package var shortName: Substring { name[section.endIndex...].dropFirst() }

    /// All keys by name.
    package static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
    /// All keys by environment name.
    static let byEnvironmentName = Dictionary(
        uniqueKeysWithValues: all.map { ($0.environmentName, $0) })
}
