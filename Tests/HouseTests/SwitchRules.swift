/// A `switch` over an enum of the protocol names every case. So the compiler shows the author of a
/// new method, operation or answer each place that must decide about it.
enum SwitchRules {
    /// By enum: its cases. Of the enums that stand at the top level of these files.
    static func enums(in files: [Repository.File]) -> [String: Set<String>] {
        var found: [String: Set<String>] = [:]
        for file in files {
            var name: String?
            for line in file.code.lines {
                if let match = line.firstMatch(of: /^(?:package |public )?enum (\w+)/) {
                    name = String(match.output.1)
                } else if line.hasPrefix("}") {
                    name = nil
                } else if let name, line.hasPrefix("    case ") {
                    // Without what a case carries.
                    let names = line.dropFirst(9).replacing(/\(.*?(?:\)|$)/, with: "")
                    let cases = names.matches(of: /(?:^|, )`?(\w+)/)
                    found[name, default: []].formUnion(cases.map { String($0.output.1) })
                }
            }
        }
        return found
    }

    /// Each `default:` of a `switch` whose cases all are of one of those enums.
    static func defaults(_ file: Repository.File, _ enums: [String: Set<String>]) -> [String] {
        let lines = file.code.lines
        return lines.indices.compactMap { index in
            let indent = lines[index].prefix { $0 == " " }
            guard lines[index].dropFirst(indent.count).hasPrefix("default:") else { return nil }
            let names = cases(above: index, indent, lines)
            let owner = enums.keys.sorted().first { name in
                !names.isEmpty && names.isSubset(of: enums[name] ?? [])
            }
            return owner.map { "\(file.path):\(index + 1): a default over \($0)" }
        }
    }

    /// The first name of each case of the `switch` that a `default:` ends; none where it switches
    /// over several values.
    private static func cases(
        above index: Int, _ indent: Substring, _ lines: [String]
    ) -> Set<String> {
        var names: Set<String> = []
        for line in lines[..<index].reversed() {
            guard line.hasPrefix(indent), line.dropFirst(indent.count).first != " " else {
                continue
            }
            let text = line.dropFirst(indent.count)
            guard text.hasPrefix("case ") else { break }
            guard let match = text.firstMatch(of: /^case (?:let )?\.(\w+)/) else { return [] }
            names.insert(String(match.output.1))
        }
        return names
    }
}
