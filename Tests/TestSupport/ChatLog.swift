import Foundation

/// Chat logs as the tests read them, apart from the program's own reader: one file is one
/// conversation, and a line that says something is one message.
package struct ChatLog: Sendable {
    package struct Line: Sendable, Hashable {
        package var author: [UInt8]
        package var text: [UInt8]
        package var isEmote = false
    }

    package let file: URL
    package let lines: [Line]

    /// The conversation that a replay of the file makes.
    package var conversation: String { file.deletingPathExtension().lastPathComponent }

    /// Each once, as in the file.
    package var authors: [String] {
        Set(lines.map(\.author)).map { String(decoding: $0, as: UTF8.self) }.sorted()
    }

    /// - Throws: Foundation's error where the file can't be read.
    package init(_ file: URL) throws {
        self.file = file
        let bytes = try [UInt8](Data(contentsOf: file))
        lines = bytes.split(separator: UInt8(ascii: "\n")).compactMap { Self.line(Array($0)) }
    }

    /// `[12:34] <nick> text` and `[12:34]  * nick text`; everything else says nothing.
    private static func line(_ bytes: [UInt8]) -> Line? {
        guard bytes.first == UInt8(ascii: "["), bytes.count > 8, bytes[6] == UInt8(ascii: "]")
        else { return nil }
        if bytes[8] == UInt8(ascii: "<"), let end = bytes.firstIndex(of: UInt8(ascii: ">")) {
            guard end + 1 < bytes.count else { return nil }
            return Line(author: Array(bytes[9..<end]), text: Array(bytes[(end + 2)...]))
        }
        guard bytes[7..<11].elementsEqual(Array("  * ".utf8)) else { return nil }
        let words = bytes[11...]
        let author = words.prefix { $0 != UInt8(ascii: " ") }
        return Line(
            author: Array(author), text: Array(words.dropFirst(author.count + 1)), isEmote: true)
    }

    /// The 21 days of real conversation beside the repository, or the excerpts in it.
    ///
    /// - Throws: Foundation's error where not even those are there.
    package static func days() throws -> [ChatLog] {
        let whole = Self.root.appendingPathComponent("../shared/data/irc").standardized
        let days = try? files(in: whole) { $0.hasPrefix("20") && $0.hasSuffix(".txt") }
        if let days, !days.isEmpty { return days }
        print("note: the whole conversations are not here; their excerpts in config/demo do")
        let excerpts = Self.root.appendingPathComponent("config/demo")
        return try files(in: excerpts) { $0.hasSuffix(".irc") }
    }

    /// The repository, found from this file; a checkout may be reached through a link.
    private static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func files(
        in folder: URL, where isLog: (String) -> Bool
    ) throws -> [ChatLog] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter(isLog)
        return try names.sorted().map { try ChatLog(folder.appendingPathComponent($0)) }
    }
}

extension ChatLog {
    /// The first place where the messages are not the log's, in words; nil if there is none.
    /// The texts themselves stay out of it.
    package func difference(from messages: [JSONValue]) -> String? {
        guard messages.count == lines.count else {
            return "\(conversation): \(messages.count) messages of \(lines.count)"
        }
        for (index, (line, message)) in zip(lines, messages).enumerated() {
            let isSame =
                message["seq"].int == index + 1 && message["deleted"].bool == false
                && message["author"].string.map { Array($0.utf8) } == line.author
                && message["body"].string.map { Array($0.utf8) } == line.text
                && (message["metadata"]["emote"].bool == true) == line.isEmote
            if !isSame { return "\(conversation): message \(index + 1) is not the log's" }
        }
        return nil
    }
}
