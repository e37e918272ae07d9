import JSON
import Wire

/// A file of messages in order: an IRC log, or NDJSON with one message a line (`{"author": …,
/// "body": …, …}`); the first line decides which. Nothing is left out silently: lines that are
/// skipped or changed are counted. A value; the whole file is in memory.
package struct Transcript {
    /// One message, ready to be posted.
    package struct Entry: Equatable {
        /// The line in the file, from 1.
        package let line: Int
        package let author: String
        /// The object that the server API takes.
        package let content: [UInt8]
    }

    /// Counts of lines that were skipped or changed.
    package struct Tally: Equatable {
        /// System lines of a log: joins, leaves, renames.
        package var system = 0
        /// Messages without a text.
        package var empty = 0
        /// Lines of no known form, or whose nick is not a valid user id.
        package var unknown = 0
        /// Lines with bytes that are not UTF-8, replaced by U+FFFD.
        package var repaired = 0
        /// Bodies cut to the limit.
        package var cut = 0

        package static func + (a: Tally, b: Tally) -> Tally {
            Tally(
                system: a.system + b.system, empty: a.empty + b.empty,
                unknown: a.unknown + b.unknown, repaired: a.repaired + b.repaired,
                cut: a.cut + b.cut)
        }
    }

    /// An invalid line, which stops the replay.
    package struct LineError: Error, Equatable {
        package let line: Int
        package let reason: String
    }

    package private(set) var entries: [Entry] = []
    package private(set) var tally = Tally()
    /// Whether the lines are JSON objects; otherwise they are those of an IRC log.
    package let isNDJSON: Bool
    /// Prefix of the line number in a message's id, so that a second replay of the same file posts
    /// the same messages and the server recognizes them.
    private let name: String
    private let bodyLimit: Int

    /// Reads a file whose name is `name`.
    ///
    /// - Parameter bodyLimit: the most bytes of a body; the rest is cut off, between two
    ///   characters.
    /// - Throws: `LineError` for NDJSON that is no message, and for a file without a message.
    package init(_ file: [UInt8], name: String, bodyLimit: Int) throws(LineError) {
        self.name = name
        self.bodyLimit = bodyLimit
        let lines = file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        let first = lines.lazy.compactMap { line in line.first { !isBlank($0) } }.first
        isNDJSON = first == UInt8(ascii: "{")
        for (at, bytes) in lines.enumerated() {
            if bytes.allSatisfy(isBlank) { continue }
            let text = repaired(bytes)
            if isNDJSON {
                try readObject(Array(text.utf8), line: at + 1)
            } else {
                readIRC(text, line: at + 1)
            }
        }
        guard !entries.isEmpty else { throw LineError(line: lines.count, reason: "no message") }
    }

    /// The authors without duplicates, in the order of their first messages.
    package var authors: [String] {
        var seen: Set<String> = []
        return entries.map(\.author).filter { seen.insert($0).inserted }
    }

    private mutating func repaired(_ bytes: ArraySlice<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        tally.repaired += 1
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func readIRC(_ text: String, line: Int) {
        switch IRCLine(text) {
        case .message(let author, let text, let time) where Identifier.isValid(author):
            append(author: author, text: text, time: time, isEmote: false, line: line)
        case .emote(let author, let text, let time) where Identifier.isValid(author):
            append(author: author, text: text, time: time, isEmote: true, line: line)
        case .system: tally.system += 1
        case .blank: tally.empty += 1
        case .message, .emote, .unknown: tally.unknown += 1
        }
    }

    private mutating func append(
        author: String, text: String, time: String?, isEmote: Bool, line: Int
    ) {
        var metadata = JSONWriter()
        metadata.beginObject()
        if let time { metadata.member("time", string: time) }
        if isEmote { metadata.member("emote", bool: true) }
        metadata.endObject()
        var json = JSONWriter()
        json.beginObject()
        json.member("id", string: id(line))
        json.member("author", string: author)
        json.member("body", string: cut(text))
        json.member("metadata", raw: metadata.bytes)
        json.endObject()
        entries.append(Entry(line: line, author: author, content: json.bytes))
    }

    /// - Throws: `LineError` if it is not an object with an author.
    private mutating func readObject(_ text: [UInt8], line: Int) throws(LineError) {
        let object: JSONObject
        do throws(JSONError) {
            object = try JSONObject(text)
        } catch {
            let reason = "not a JSON object: \(error.reason) (byte \(error.offset))"
            throw LineError(line: line, reason: reason)
        }
        guard let author = object["author"]?.string, Identifier.isValid(author) else {
            throw LineError(
                line: line, reason: "author: missing (1 to 255 bytes without control characters)")
        }
        var json = JSONWriter()
        json.beginObject()
        if object["id"] == nil { json.member("id", string: id(line)) }
        for member in object.members {
            if member.key == "body", let body = member.value.string {
                json.member("body", string: cut(body))
            } else {
                json.member(member.key, raw: member.value)
            }
        }
        json.endObject()
        entries.append(Entry(line: line, author: author, content: json.bytes))
    }

    private mutating func cut(_ text: String) -> String {
        guard text.utf8.count > bodyLimit else { return text }
        tally.cut += 1
        var length = 0
        return String(
            text.unicodeScalars.prefix { scalar in
                length += UTF8.width(scalar)
                return length <= bodyLimit
            })
    }

    private func id(_ line: Int) -> String { "\(name):\(line)" }
}
