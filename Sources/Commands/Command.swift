/// Why a command failed. `usage`: the caller's mistake (exit code 2); `failure`: everything else
/// (1).
package enum CommandError: Error, Sendable, Hashable {
    case usage(String)
    case failure(String)
}

/// One command of the program: `gapless NAME`.
package struct Command: Sendable {
    /// `--name VALUE`, or `--name` alone.
    struct Option: Sendable {
        let name: String
        /// The placeholder for the value in the help; nil if the option takes none.
        let value: String?
        /// Empty if `details` describe the option.
        let help: String
        var repeats = false
    }

    let name: String
    /// One line for the table of commands.
    let summary: String
    /// The operands, for the help: `FILE…`. Empty if the command takes none.
    var operands = ""
    /// Sentences for `--help`.
    var details = ""
    var options: [Option] = []
    /// Runs the command; returns the exit code of the process.
    let run: @Sendable (Arguments, Console) throws(CommandError) -> Int32

    /// The page of `--help`.
    var help: String {
        var text = "usage: gapless \(name)"
        if !options.isEmpty { text += " [options]" }
        if !operands.isEmpty { text += " \(operands)" }
        text += "\n\n\(summary)\n"
        if !details.isEmpty { text += "\n\(details)\n" }
        let shown = options.filter { !$0.help.isEmpty }
        let all = shown + [Option(name: "help", value: nil, help: "show this")]
        let forms = all.map { "--\($0.name)" + ($0.value.map { " \($0)" } ?? "") }
        return text + "\noptions:\n" + Self.table(Array(zip(forms, all.map(\.help))))
    }

    /// Two columns; a text goes below a first column that is too wide.
    static func table(_ rows: [(String, String)]) -> String {
        let width = min(rows.map(\.0.count).max() ?? 0, 28)
        return rows.map { name, text in
            let gap =
                name.count > width
                ? "\n" + String(repeating: " ", count: width + 4)
                : String(repeating: " ", count: width + 2 - name.count)
            return "  \(name)\(gap)\(text)\n"
        }.joined()
    }
}
