/// Settings beside the file. A reload reads the file again, but a process keeps its environment and
/// its flags.
package struct ConfigurationOverrides: Sendable, Hashable {
    /// The environment of the process; only names with the prefix `GAPLESS_` are looked at.
    package var environment: [String: String]
    /// `--set key=value`, in order; a later one wins.
    package var settings: [Setting]

    package init(environment: [String: String] = [:], settings: [Setting] = []) {
        self.environment = environment
        self.settings = settings
    }
}

extension Configuration {
    /// The configuration of a process: flags over environment over file over defaults.
    ///
    /// - Parameter isServed: whether what is given and not used is a problem.
    /// - Throws: `ConfigurationError` with everything that is wrong: a file that can't be read or
    ///   is not JSON5, unknown and removed keys, values not accepted, values that contradict each
    ///   other.
    package static func load(
        file: String?, overrides: ConfigurationOverrides, isServed: Bool = true
    ) throws(ConfigurationError) -> Configuration {
        var (settings, problems) = overrides.environmentSettings
        settings += overrides.settings
        var configuration = Configuration()
        do throws(ConfigurationError) {
            let written = try file.map(read(file:)) ?? []
            settings = written + settings
            problems += repeated(written)
        } catch {
            for setting in settings { _ = configuration.apply(setting) }
            throw ConfigurationError(error.problems, log: configuration.log)
        }
        for setting in settings {
            if let problem = configuration.apply(setting) { problems.append(problem) }
        }
        problems += configuration.contradictions
        if isServed { problems += configuration.unused(settings) }
        guard problems.isEmpty else {
            throw ConfigurationError(problems, log: configuration.log)
        }
        return configuration
    }

    private static func read(file path: String) throws(ConfigurationError) -> [Setting] {
        let text: [UInt8]
        do throws(FileError) {
            text = try Files.read(path, limit: JSON5Reader.largestFile)
        } catch {
            throw ConfigurationError([.init(.whole, error.description)])
        }
        do throws(JSON5Reader.SyntaxError) {
            return try JSON5Reader.settings(of: text, path: path)
        } catch {
            let message = "\(error.reason) (column \(error.column))"
            throw ConfigurationError([.init(.file(path, line: error.line), message)])
        }
    }

    /// A key given twice in one file is most likely a mistake, and never clear.
    private static func repeated(_ settings: [Setting]) -> [ConfigurationError.Problem] {
        var first: [String: ConfigurationError.Place] = [:]
        return settings.compactMap { setting in
            guard let place = first.updateValue(setting.place, forKey: setting.key) else {
                return nil
            }
            return .init(setting.place, key: setting.key, "given before, at \(place)")
        }
    }

    /// Sets one key.
    /// - Returns: the problem, if the value or the key is not accepted.
    package mutating func apply(_ setting: Setting) -> ConfigurationError.Problem? {
        guard let key = ConfigurationKey.byName[setting.key] else {
            let isSection = ConfigurationSection.all.contains { $0.name == setting.key }
            if setting.value == .section, isSection { return nil }
            return .init(setting.place, key: setting.key, Self.unknown(setting.key))
        }
        if key.assign(setting.value, &self) { return nil }
        let seen =
            key.isSecret ? "the value given" : (key.fault(setting.value) ?? setting.value).shown
        return .init(
            setting.place, key: key.name, "\(seen) is not accepted (accepted: \(key.accepted))")
    }

    private static func unknown(_ name: String) -> String {
        if let removed = RemovedKey.byName[name] { return removed.problem }
        let inside = ConfigurationKey.all.filter { $0.name.hasPrefix(name + ".") }
        if !inside.isEmpty {
            let names = inside.map { String($0.name.dropFirst(name.count + 1)) }
            return "a section, not a key (keys: \(names.joined(separator: ", ")))"
        }
        let names = ConfigurationKey.all.map(\.name) + ConfigurationSection.all.map(\.name)
        return "unknown key" + ClosestMatch.hint(for: name, in: names)
    }
}

extension ConfigurationOverrides {
    /// The settings of the environment, and problems for variables with our prefix that name no
    /// key. An empty variable counts as absent: shells and compose files can't leave one out.
    package var environmentSettings: (settings: [Setting], problems: [ConfigurationError.Problem]) {
        var settings: [Setting] = []
        var problems: [ConfigurationError.Problem] = []
        let ours = environment.filter {
            $0.key.hasPrefix(ConfigurationKey.environmentPrefix) && !$0.value.isEmpty
        }
        for (name, value) in ours.sorted(by: { $0.key < $1.key }) {
            if let key = ConfigurationKey.byEnvironmentName[name] {
                let place = ConfigurationError.Place.environment(name)
                settings.append(Setting(key: key.name, value: .word(value), place: place))
            } else if let removed = RemovedKey.byEnvironmentName[name] {
                problems.append(.init(.environment(name), removed.problem))
            } else if !Self.isServiceLink(name) {
                let names = ConfigurationKey.all.map(\.environmentName)
                problems.append(
                    .init(
                        .environment(name),
                        "no key has this name" + ClosestMatch.hint(for: name, in: names)))
            }
        }
        return (settings, problems)
    }

    /// Kubernetes and Docker describe services in environment variables; those of a service whose
    /// name begins with ours (`GAPLESS_SERVICE_HOST`, `GAPLESS_PORT_8000_TCP`) look like keys.
    private static func isServiceLink(_ name: String) -> Bool {
        let parts = name.split(separator: "_").dropFirst()
        return parts.last == "PORT" || name.hasSuffix("_SERVICE_HOST")
            || name.contains("_SERVICE_PORT")
            || zip(parts, parts.dropFirst()).contains { $0 == "PORT" && UInt16($1) != nil }
    }
}
