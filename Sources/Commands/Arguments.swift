import Configuration

/// The arguments of a command, sorted into options and operands.
package struct Arguments: Sendable {
    private var values: [String: [String]] = [:]
    /// Arguments that are not options, in order.
    private(set) var operands: [String] = []
    /// Whether help was asked for; everything else is then ignored.
    private(set) var wantsHelp = false

    /// Accepts `--name value`, `--name=value` and `--name`; after `--` nothing is an option.
    ///
    /// - Throws: `CommandError.usage` for an option that the command does not have, one without its
    ///   value, one given twice that may not repeat, or an operand that the command does not take.
    init(_ words: some Sequence<String>, of command: Command) throws(CommandError) {
        var words = Array(words)[...]
        while let word = words.popFirst() {
            if word == "--" {
                operands += words
                break
            }
            guard word.hasPrefix("-"), word != "-" else {
                operands.append(word)
                continue
            }
            if word == "--help" || word == "-h" {
                wantsHelp = true
                return
            }
            try take(word, from: &words, of: command)
        }
        if !operands.isEmpty, command.operands.isEmpty {
            throw .usage("\(command.name) takes no operand: \(quoted(operands[0]))")
        }
    }

    private mutating func take(
        _ word: String, from words: inout ArraySlice<String>, of command: Command
    ) throws(CommandError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0].drop { $0 == "-" })
        guard word.hasPrefix("--"), let option = command.options.first(where: { $0.name == name })
        else {
            let names = command.options.map { "--\($0.name)" }
            let hint = ClosestMatch.hint(for: String(parts[0]), in: names)
            throw .usage("\(command.name) has no option \(parts[0])\(hint)")
        }
        var value = ""
        if option.value != nil {
            guard let given = parts.count == 2 ? String(parts[1]) : words.popFirst() else {
                throw .usage("--\(name) takes a value")
            }
            value = given
        } else if parts.count == 2 {
            throw .usage("--\(name) takes no value")
        }
        guard option.repeats || values[name] == nil else {
            throw .usage("--\(name) is given twice")
        }
        values[name, default: []].append(value)
    }

    /// The value of an option, if it is given.
    subscript(_ name: String) -> String? { values[name]?.last }

    /// Each value of an option that may repeat.
    func all(_ name: String) -> [String] { values[name] ?? [] }

    /// The value of a required option.
    /// - Throws: `CommandError.usage` if it is missing or empty.
    func required(_ name: String) throws(CommandError) -> String {
        guard let value = values[name]?.last, !value.isEmpty else {
            throw .usage("--\(name) is missing")
        }
        return value
    }

    /// The value of an option, read by `read`.
    /// - Throws: `CommandError.usage` if it is not accepted.
    func value<Value>(
        _ name: String, default missing: Value, accepted: String, read: (String) -> Value?
    ) throws(CommandError) -> Value {
        guard let text = self[name] else { return missing }
        guard let value = read(text) else {
            throw .usage("--\(name): \(quoted(text)) is not accepted (accepted: \(accepted))")
        }
        return value
    }
}
