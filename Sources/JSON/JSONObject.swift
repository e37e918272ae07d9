/// A name and its value in a JSON object.
public struct JSONMember: Sendable, Hashable {
    /// The name, unescaped.
    public var key: String
    /// The value, exactly as it was written.
    public var value: RawJSON

    /// A member.
    public init(key: String, value: RawJSON) {
        self.key = key
        self.value = value
    }
}

/// The members of a JSON object, in the order of the text.
///
/// Meant for objects of a dozen members: a lookup scans them. Names are compared byte by byte, as
/// every other JSON reader does; Swift's own `==` would take a letter with a combining accent for
/// the composed one.
public struct JSONObject: Sendable {
    /// The members in the order of the text, duplicate names included.
    public let members: [JSONMember]

    /// An object of these members.
    public init(members: [JSONMember]) { self.members = members }

    /// The object in `text`.
    /// - Throws: if the text is not exactly one object of RFC 8259 in UTF-8, or nests deeper than
    ///   64 levels.
    public init(_ text: [UInt8]) throws(JSONError) {
        var scanner = JSONScanner()
        let span = text.span
        scanner.skipSpace(in: span)
        guard scanner.peek(in: span) == UInt8(ascii: "{") else {
            throw JSONError(offset: scanner.at, reason: "no object begins here")
        }
        var members: [JSONMember] = []
        var more = try scanner.enter(closing: UInt8(ascii: "}"), depth: 0, in: span)
        if more { members.reserveCapacity(12) }
        while more {
            let key = try scanner.key(in: span)
            let start = scanner.at
            try scanner.value(in: span, depth: 1)
            let value = RawJSON(of: text, start..<scanner.at)
            members.append(JSONMember(key: Self.name(key, in: text), value: value))
            more = try scanner.next(closing: UInt8(ascii: "}"), in: span)
        }
        try scanner.finish(in: span)
        self.members = members
    }

    private static func name(_ key: JSONScanner.StringToken, in text: [UInt8]) -> String {
        key.isEscaped
            ? JSONText.unescaped(text, key.start..<key.end)
            : String(decoding: text[key.start..<key.end], as: UTF8.self)
    }

    /// The text of the object, without white space.
    public var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for member in members { writer.member(member) }
        writer.endObject()
        return writer.bytes
    }

    /// The value of a name; of duplicates, the last.
    public subscript(key: String) -> RawJSON? {
        for member in members.reversed() where member.key.hasSameBytes(as: key) {
            return member.value
        }
        return nil
    }

    /// The members whose name is not in `names`, in order; of duplicates, the last.
    public func members(except names: Set<String>) -> [JSONMember] {
        var seen: Set<[UInt8]> = []
        var kept: [JSONMember] = []
        for member in members.reversed() where !names.contains(member.key) {
            if seen.insert(Array(member.key.utf8)).inserted { kept.append(member) }
        }
        kept.reverse()
        return kept
    }
}
