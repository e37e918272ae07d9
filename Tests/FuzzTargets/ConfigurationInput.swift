import Configuration

/// What an operator writes: a configuration file, and lines `NAME=VALUE` as an environment; each
/// line is also read as a size, a duration and an address.
enum ConfigurationInput {
    static func run(_ bytes: [UInt8]) {
        file(bytes)
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        environment(lines)
        for line in lines { words(String(line)) }
    }

    private static func file(_ bytes: [UInt8]) {
        let lines = bytes.count { $0 == 0x0A } + 1
        let settings: [Setting]
        do throws(JSON5Reader.SyntaxError) {
            settings = try JSON5Reader.settings(of: bytes, path: "f")
        } catch {
            require((1...lines).contains(error.line), "an error is in a line")
            require((1...bytes.count + 1).contains(error.column), "an error is in a column")
            require(!error.reason.isEmpty, "an error says why")
            return
        }
        for setting in settings {
            guard case .file("f", let line) = setting.place else {
                return require(false, "a setting is in the file")
            }
            require((1...lines).contains(line), "a setting is in a line")
            check(setting.value)
        }
        apply(settings)
    }

    private static func check(_ value: SettingValue) {
        switch value {
        case .number(let literal):
            require(Double(literal)?.isNaN == false, "a number is one: \(literal)")
            require(
                literal.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) },
                "a number is decimal: \(literal)")
        case .list(let elements): for element in elements { check(element) }
        case .word: require(false, "a file has no words")
        case .string, .bool, .section, .null: break
        }
    }

    private static func apply(_ settings: [Setting]) {
        var configuration = Configuration()
        for setting in settings {
            guard let problem = configuration.apply(setting) else {
                written(setting.key, configuration)
                continue
            }
            require(!problem.description.isEmpty, "a problem says what it is")
            guard setting.key == "upstream.redis.url", case .string(let text) = setting.value,
                text.utf8.count > 24
            else { continue }
            require(!problem.description.contains(text), "a secret is not shown")
        }
        for problem in configuration.contradictions {
            require(problem.key != nil, "a contradiction names a key")
        }
    }

    /// A key that was set is written so that reading it gives the same.
    private static func written(_ name: String, _ configuration: Configuration) {
        guard let key = ConfigurationKey.byName[name] else {
            return require(false, "only keys are set")
        }
        let text = Array("{\"\(name)\": \(key.literal(configuration))}".utf8)
        guard let settings = try? JSON5Reader.settings(of: text, path: "f"), settings.count == 1
        else { return require(false, "a key is written in JSON5: \(name)") }
        var read = Configuration()
        require(read.apply(settings[0]) == nil, "a written key is accepted: \(name)")
        require(key.agrees(read, configuration), "a written key means the same: \(name)")
    }

    private static func environment(_ lines: [Substring]) {
        var variables: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
        }
        let read = ConfigurationOverrides(environment: variables).environmentSettings
        require(read.settings.count + read.problems.count <= variables.count, "one of each")
        for setting in read.settings {
            guard case .word = setting.value else {
                return require(false, "a variable is a word")
            }
            require(ConfigurationKey.byName[setting.key] != nil, "a variable is a key's")
        }
        apply(read.settings)
    }

    private static func words(_ text: String) {
        if let size = Words.size(text) {
            require(size >= 0, "a size is no debt")
            require(Words.size(Words.write(size: size)) == size, "a written size is the same")
        }
        if let duration = Words.duration(text) {
            require(duration >= 0, "a duration is no debt")
            let written = Words.write(duration: duration)
            require(Words.duration(written) == duration, "a written duration is the same")
        }
        if let address = Address(text) {
            require(Address("\(address)") == address, "a written address is the same")
        }
    }
}
