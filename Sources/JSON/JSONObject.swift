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
    /// Where one member lies in the text of its object.
    private struct Place {
        let key: JSONScanner.StringToken
        let value: Range<Int>
    }

    private enum Storage {
        case members([JSONMember])
        /// The members stay in the text, and are decoded when they are asked for.
        case places([Place], in: [UInt8])
    }

    private let storage: Storage

    /// An object of these members.
    public init(members: [JSONMember]) { storage = .members(members) }

    /// The object in `text`.
    /// - Throws: if the text is not exactly one object of RFC 8259 in UTF-8, or nests deeper than
    ///   64 levels.
    public init(_ text: [UInt8]) throws(JSONError) {
        var members: [JSONMember] = []
        try Self.scan(text, 0..<text.count) { key, value in
            if members.isEmpty { members.reserveCapacity(12) }
            let value = RawJSON(of: text, value)
            members.append(JSONMember(key: Self.name(key, in: text), value: value))
        }
        storage = .members(members)
    }

    /// The same, for an object of which each member is looked at once: nothing is copied before.
    /// - Throws: as `init(_:)`.
    package init(inPlace text: [UInt8]) throws(JSONError) {
        try self.init(inPlace: text, 0..<text.count)
    }

    init(inPlace text: [UInt8], _ range: Range<Int>) throws(JSONError) {
        var places: [Place] = []
        try Self.scan(text, range) { key, value in
            if places.isEmpty { places.reserveCapacity(8) }
            places.append(Place(key: key, value: value))
        }
        storage = .places(places, in: text)
    }

    /// Checks the object in a part of the text, and calls `visit` with each member.
    private static func scan(
        _ text: [UInt8], _ range: Range<Int>,
        _ visit: (JSONScanner.StringToken, Range<Int>) -> Void
    ) throws(JSONError) {
        var scanner = JSONScanner(at: range.lowerBound)
        let span = text.span.extracting(..<range.upperBound)
        scanner.skipSpace(in: span)
        guard scanner.peek(in: span) == UInt8(ascii: "{") else {
            throw JSONError(offset: scanner.at, reason: "no object begins here")
        }
        var more = try scanner.enter(closing: UInt8(ascii: "}"), depth: 0, in: span)
        while more {
            let key = try scanner.key(in: span)
            let start = scanner.at
            try scanner.value(in: span, depth: 1)
            visit(key, start..<scanner.at)
            more = try scanner.next(closing: UInt8(ascii: "}"), in: span)
        }
        try scanner.finish(in: span)
    }

    private static func name(_ key: JSONScanner.StringToken, in text: [UInt8]) -> String {
        key.isEscaped
            ? JSONText.unescaped(text, key.start..<key.end)
            : String(decoding: text[key.start..<key.end], as: UTF8.self)
    }

    /// The members in the order of the text, duplicate names included.
    public var members: [JSONMember] {
        switch storage {
        case .members(let members): members
        case .places(let places, let text): places.map { Self.member($0, in: text) }
        }
    }

    private static func member(_ place: Place, in text: [UInt8]) -> JSONMember {
        JSONMember(key: name(place.key, in: text), value: RawJSON(of: text, place.value))
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
    public subscript(key: String) -> RawJSON? { slice(key)?.raw }

    /// The same, where it lies.
    package func slice(_ key: String) -> JSONSlice? {
        switch storage {
        case .members(let members):
            for member in members.reversed() where member.key.hasSameBytes(as: key) {
                return member.value.slice
            }
        case .places(let places, let text):
            for place in places.reversed() where Self.isNamed(place, key, in: text) {
                return JSONSlice(text, place.value)
            }
        }
        return nil
    }

    private static func isNamed(_ place: Place, _ name: String, in text: [UInt8]) -> Bool {
        let key = place.key
        if key.isEscaped { return Self.name(key, in: text).hasSameBytes(as: name) }
        guard name.utf8.count == key.end - key.start else { return false }
        return name.utf8.reading { name in
            for at in name.indices where name[at] != text[key.start + at] { return false }
            return true
        }
    }

    /// The members whose name is not in `names`, in order; of duplicates, the last.
    public func members(except names: Set<String>) -> [JSONMember] {
        var seen: Set<[UInt8]> = []
        var kept: [JSONMember] = []
        func keep(_ key: String, _ value: @autoclosure () -> RawJSON) {
            guard !names.contains(key), seen.insert(Array(key.utf8)).inserted else { return }
            kept.append(JSONMember(key: key, value: value()))
        }
        switch storage {
        case .members(let members):
            for member in members.reversed() { keep(member.key, member.value) }
        case .places(let places, let text):
            for place in places.reversed() {
                keep(Self.name(place.key, in: text), RawJSON(of: text, place.value))
            }
        }
        kept.reverse()
        return kept
    }
}
