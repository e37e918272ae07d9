import Configuration

/// One line of an IRC log, told apart by its form; what it means in the log is the reader's.
/// The time of day is optional and may have seconds; between it and the rest stand any spaces.
enum IRCLine: Equatable {
    /// `[07:04] <nick> text`
    case message(author: String, text: String, time: String?)
    /// `[07:04]  * nick does`
    case emote(author: String, text: String, time: String?)
    /// `=== nick has joined #channel`, and the like.
    case system
    /// A nick without a text behind it, or nothing at all.
    case blank
    /// Anything else.
    case unknown

    init(_ line: String) {
        var rest = Self.trimmed(line[...])
        if rest.isEmpty {
            self = .blank
            return
        }
        let time = Self.takeTime(&rest)
        rest = rest.drop { $0 == " " }
        if rest.hasPrefix("===") || rest.hasPrefix("***") {
            self = .system
        } else if rest.hasPrefix("<"), let end = rest.firstIndex(of: ">") {
            // A text may hold anything, a nick no `>`: the first one ends it. Spaces in a nick are
            // no IRC, but real logs have them (`<zcat[1] >`), and they are kept.
            let author = rest[rest.index(after: rest.startIndex)..<end]
            let text = rest[rest.index(after: end)...]
            self = Self.line(author, text) { .message(author: $0, text: $1, time: time) }
        } else if rest.hasPrefix("* ") {
            let words = rest.dropFirst(2)
            let author = words.prefix { $0 != " " }
            let text = words[author.endIndex...]
            self = Self.line(author, text) { .emote(author: $0, text: $1, time: time) }
        } else {
            self = .unknown
        }
    }

    /// - Parameter text: what stands behind the author, with the space between them. With that
    ///   space alone somebody said nothing, which is a message too.
    private static func line(
        _ author: Substring, _ text: Substring, _ make: (String, String) -> IRCLine
    ) -> IRCLine {
        if author.allSatisfy({ $0 == " " }) { return .unknown }
        if text.isEmpty { return .blank }
        return make(String(author), String(text.first == " " ? text.dropFirst() : text))
    }

    /// `[07:04]` or `[07:04:59]` at the beginning, without its brackets.
    private static func takeTime(_ rest: inout Substring) -> String? {
        guard rest.first == "[", let end = rest.firstIndex(of: "]") else { return nil }
        let time = rest[rest.index(after: rest.startIndex)..<end]
        let parts = time.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count),
            parts.allSatisfy({ $0.count == 2 && $0.allSatisfy(\.isASCIIDigit) })
        else { return nil }
        rest = rest[rest.index(after: end)...]
        return String(time)
    }

    /// Without the ends of lines behind it. (`\r\n` is one character.)
    private static func trimmed(_ line: Substring) -> Substring {
        var line = line
        while let last = line.last, last == "\r" || last == "\n" || last == "\r\n" {
            line.removeLast()
        }
        return line
    }
}
