import Configuration

/// One line of an IRC log, classified by its form; the caller decides what to do with it. The time
/// of day is optional and may have seconds; any number of spaces may follow it.
enum IRCLine: Equatable {
    /// `[07:04] <nick> text`
    case message(author: String, text: String, time: String?)
    /// `[07:04]  * nick does`
    case emote(author: String, text: String, time: String?)
    /// `=== nick has joined #channel`, and the like.
    case system
    /// A nick without a text, or an empty line.
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
            // The first `>` ends the nick: a text may hold one, a nick may not. IRC allows no
            // spaces in a nick, but real logs have them (`<zcat[1] >`), so they are kept.
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

    /// - Parameter text: the rest after the author, with the space between them. The space alone is
    ///   an empty message.
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

    /// Without line ends at its end. (`\r\n` is one `Character`.)
    private static func trimmed(_ line: Substring) -> Substring {
        var line = line
        while let last = line.last, last == "\r" || last == "\n" || last == "\r\n" {
            line.removeLast()
        }
        return line
    }
}
