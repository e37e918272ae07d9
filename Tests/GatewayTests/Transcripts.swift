import Foundation

/// The chat logs that the tests play: all days where the data lies beside the repository, else the
/// excerpts that the project ships. Read here apart from `gapless replay`, which it checks.
struct Transcript: Sendable {
    struct Line: Sendable, Hashable {
        var author: String
        var body: String
    }

    let file: URL
    let lines: [Line]

    /// The name of the file without its endings.
    var conversation: String { String(file.lastPathComponent.prefix { $0 != "." }) }

    static let all: [Transcript] = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let whole = files(root.appendingPathComponent("../shared/data/irc"), ".txt")
            .filter { $0.lastPathComponent != "LICENSE.txt" }
        let used = whole.isEmpty ? files(root.appendingPathComponent("config/demo"), ".irc") : whole
        return used.map(Transcript.init(file:))
    }()

    private static func files(_ folder: URL, _ ending: String) -> [URL] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(ending) }.sorted().map(folder.appendingPathComponent)
    }

    init(file: URL) {
        self.file = file
        let text = String(decoding: (try? Data(contentsOf: file)) ?? Data(), as: UTF8.self)
        lines = text.split(separator: "\n").compactMap(Self.line)
    }

    /// `[HH:MM] <nick> text` or `[HH:MM]  * nick does`; anything else is no message.
    private static func line(_ text: Substring) -> Line? {
        guard text.hasPrefix("["), let end = text.firstIndex(of: "]") else { return nil }
        let rest = text[text.index(after: end)...].drop { $0 == " " }
        if rest.hasPrefix("<"), let close = rest.firstIndex(of: ">") {
            let body = rest[rest.index(after: close)...].dropFirst()
            return Line(author: String(rest.dropFirst().prefix(upTo: close)), body: String(body))
        }
        guard rest.hasPrefix("* ") else { return nil }
        let words = rest.dropFirst(2)
        let author = words.prefix { $0 != " " }
        return Line(author: String(author), body: String(words.dropFirst(author.count + 1)))
    }
}
