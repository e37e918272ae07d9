/// Ceilings of files, functions and lines. A function above its ceiling says why in a line that
/// begins with `// House:`, right above it or inside it.
enum SizeRules {
    static func file(_ file: Repository.File) -> [String] {
        let count = file.text.hasSuffix("\n") ? file.lines.count - 1 : file.lines.count
        return count <= House.fileLimit ? [] : ["\(file.path): \(count) lines (\(House.fileLimit))"]
    }

    static func columns(_ file: Repository.File) -> [String] {
        file.lines.enumerated().compactMap { index, line in
            line.count <= House.columnLimit
                ? nil : "\(file.path):\(index + 1): \(line.count) columns (\(House.columnLimit))"
        }
    }

    static func functions(_ file: Repository.File) -> [String] {
        let code = file.code.lines
        let raw = file.lines
        return code.indices.compactMap { start in
            guard begins(code[start]), let end = end(of: start, code) else { return nil }
            let count = end - start + 1
            guard count > House.functionLimit else { return nil }
            let around = raw[max(0, start - 3)...end]
            if around.contains(where: { $0.contains("// House:") }) { return nil }
            let place = "\(file.path):\(start + 1)"
            return "\(place): a function of \(count) lines (\(House.functionLimit))"
        }
    }

    /// Functions with more parameters than that. An initializer has one for each property that it
    /// is given, and properties have a ceiling of their own.
    static func parameters(_ file: Repository.File, limit: Int) -> [String] {
        let code = file.code.lines
        return code.indices.compactMap { start in
            guard begins(code[start]), code[start].contains("func "),
                let open = code[start].firstIndex(of: "(")
            else { return nil }
            var depth = 0
            var count = 0
            // To the parenthesis that closes the list.
            let rest = [String(code[start][open...])] + code[(start + 1)...].prefix(20)
            for character in rest.joined().replacing("->", with: "") {
                if "([{<".contains(character) { depth += 1 }
                if ")]}>".contains(character) { depth -= 1 }
                if character == ":", depth == 1 { count += 1 }
                if depth == 0 { break }
            }
            return count <= limit
                ? nil : "\(file.path):\(start + 1): \(count) parameters (\(limit))"
        }
    }

    private static func begins(_ line: String) -> Bool {
        let words = line.split { " ({<".contains($0) }
        return words.contains("func") || words.contains("deinit")
            || words.contains { $0 == "init" || $0 == "init?" || $0 == "subscript" }
                && line.drop { $0 == " " }.first != "."
    }

    /// The line of the brace that closes the function; nil for a requirement without a body.
    private static func end(of start: Int, _ code: [String]) -> Int? {
        var braces = 0
        var parentheses = 0
        var hasBody = false
        for index in start..<code.count {
            for character in code[index] {
                switch character {
                case "(", "[": parentheses += 1
                case ")", "]": parentheses -= 1
                case "{":
                    braces += 1
                    if parentheses == 0 { hasBody = true }
                case "}": braces -= 1
                default: break
                }
                if braces < 0 { return nil }
                if hasBody, braces == 0 { return index }
            }
            // A signature is over with its line, unless a parenthesis is open or a clause follows.
            if !hasBody, parentheses == 0, index > start || !code[index].contains("(") {
                return nil
            }
        }
        return nil
    }
}
