/// The configuration as text for people: the commented file of `genconfig` and the reference of
/// `configdoc`, both derived from the declarations of the keys.
package enum ConfigurationText {
    private static let width = 100

    /// A JSON5 file with every key, its default and its comment. Reading it gives the defaults.
    package static func file() -> String {
        var text = comment(
            "The configuration of gapless: every key with its default. A key that is left out, or"
                + " null, has its default. Over this file stand the environment"
                + " (limits.connections is GAPLESS_LIMITS_CONNECTIONS) and --set"
                + " limits.connections=1000; lists have commas there. Keys marked [reload] take"
                + " effect on SIGHUP.", indent: "")
        text += "{\n"
        let top = ConfigurationSection.all.filter { !$0.name.contains(".") }
        text += top.map { self.text(of: $0, indent: "  ") }.joined(separator: "\n")
        return text + "}\n"
    }

    private static func text(of section: ConfigurationSection, indent: String) -> String {
        let defaults = Configuration()
        let inner = indent + "  "
        var parts = section.keys.map { key in
            let mark = key.reloads ? " [reload]" : ""
            return comment("\(key.documentation) Accepted: \(key.accepted).\(mark)", indent: inner)
                + "\(inner)\(key.shortName): \(key.literal(defaults)),\n"
        }
        parts += section.sections.map { text(of: $0, indent: inner) }
        return comment(section.documentation, indent: indent)
            + "\(indent)\(section.shortName): {\n" + parts.joined(separator: "\n")
            + "\(indent)},\n"
    }

    private static func comment(_ text: String, indent: String) -> String {
        var lines: [String] = []
        var line = indent + "//"
        for word in text.split(separator: " ") {
            if line.count + 1 + word.count > width {
                lines.append(line)
                line = indent + "//"
            }
            line += " " + word
        }
        lines.append(line)
        return lines.map { $0 + "\n" }.joined()
    }

    /// The reference, in Markdown: a table for each section.
    package static func reference() -> String {
        var text = """
            # Configuration

            One file in JSON5, `gapless serve --config FILE`. Over it stands the environment, over
            that `--set key=value`. A key's name there is its own in capitals with `GAPLESS_` before
            it and `_` for each dot: `limits.connections` is `GAPLESS_LIMITS_CONNECTIONS`. Lists
            have commas there. An unknown key, a value that is not accepted, a key that nothing
            uses or a missing file stops the start. *Reload*: whether SIGHUP applies a change, or
            only a restart does.

            """
        let defaults = Configuration()
        for section in ConfigurationSection.all {
            text += "\n## \(section.name)\n\n\(section.documentation)\n\n"
            text += "| key | default | accepted | reload | what it means |\n"
            text += "|---|---|---|---|---|\n"
            for key in section.keys {
                let cells = [
                    "`\(key.name)`", "`\(key.literal(defaults))`", key.accepted,
                    key.reloads ? "yes" : "no", key.documentation,
                ]
                let escaped = cells.map { cell in
                    cell.split(separator: "|", omittingEmptySubsequences: false)
                        .joined(separator: "\\|")
                }
                text += "| " + escaped.joined(separator: " | ") + " |\n"
            }
        }
        return text
    }
}
