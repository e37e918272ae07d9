/// Swift text with its comments and the insides of its string literals blanked out, line for line,
/// so that a rule about code can't be set off by prose. Regular expression literals are not known;
/// the house does not use them.
struct SwiftCode: Sendable {
    private(set) var lines: [String] = []

    init(_ text: String) {
        var blanking = Blanking(text)
        lines = blanking.run().split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
    }
}

private struct Blanking {
    private let scalars: [Unicode.Scalar]
    private var at = 0
    private var out = String.UnicodeScalarView()

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    mutating func run() -> String {
        while at < scalars.count {
            let next = scalars[at]
            guard next == "/" || next == "\"" || next == "#" else {
                keep()
                continue
            }
            if looking(at: "//") {
                while at < scalars.count, scalars[at] != "\n" { blank() }
            } else if looking(at: "/*") {
                blockComment()
            } else if let hashes = literalBegins() {
                literal(hashes: hashes)
            } else {
                keep()
            }
        }
        return String(out)
    }

    private func looking(at word: String) -> Bool {
        var place = at
        for scalar in word.unicodeScalars {
            guard place < scalars.count, scalars[place] == scalar else { return false }
            place += 1
        }
        return true
    }

    private mutating func keep() {
        out.append(scalars[at])
        at += 1
    }

    private mutating func blank() {
        out.append(scalars[at] == "\n" ? "\n" : " ")
        at += 1
    }

    private mutating func blockComment() {
        var depth = 0
        repeat {
            if looking(at: "/*") {
                depth += 1
                blank()
            } else if looking(at: "*/") {
                depth -= 1
                blank()
            }
            if at < scalars.count { blank() }
        } while depth > 0 && at < scalars.count
    }

    /// The number of `#` before a quote, where a literal begins here.
    private func literalBegins() -> Int? {
        var end = at
        while end < scalars.count, scalars[end] == "#" { end += 1 }
        return end < scalars.count && scalars[end] == "\"" ? end - at : nil
    }

    private mutating func literal(hashes: Int) {
        let marks = String(repeating: "#", count: hashes)
        for _ in 0..<hashes { keep() }
        let quotes = looking(at: "\"\"\"") ? "\"\"\"" : "\""
        for _ in quotes.unicodeScalars { keep() }
        let end = quotes + marks
        let escape = "\\" + marks
        while at < scalars.count {
            if looking(at: end) {
                for _ in end.unicodeScalars { keep() }
                return
            }
            if looking(at: escape) {
                // An escape: what follows it never ends the literal, and an interpolation is
                // skipped to its closing parenthesis.
                for _ in 0...hashes { blank() }
                if at < scalars.count, scalars[at] == "(" { interpolation() } else { blank() }
            } else if quotes == "\"", scalars[at] == "\n" {
                return
            } else {
                blank()
            }
        }
    }

    private mutating func interpolation() {
        var depth = 0
        repeat {
            if scalars[at] == "(" { depth += 1 }
            if scalars[at] == ")" { depth -= 1 }
            if let hashes = literalBegins() { literal(hashes: hashes) } else { blank() }
        } while depth > 0 && at < scalars.count
    }
}
