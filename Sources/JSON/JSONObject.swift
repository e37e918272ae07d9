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
    struct Place {
        let key: JSONScanner.StringToken
        let value: Range<Int>
        /// How many elements the value has, if it is an array.
        let elements: Int
        /// How many arrays and objects lie in each other in the value.
        let levels: Int
    }

    enum Storage {
        case members([JSONMember])
        /// The members stay in the text, and are decoded when they are asked for.
        case places([Place], in: [UInt8])
    }

    let storage: Storage

    /// An object of these members.
    public init(members: [JSONMember]) { storage = .members(members) }

    /// The object in `text`.
    /// - Throws: if the text is not exactly one object of RFC 8259 in UTF-8, or nests deeper than
    ///   64 levels.
    public init(_ text: [UInt8]) throws(JSONError) {
        storage = .members(try JSONObject(inPlace: text).members)
    }

    /// The same, for an object of which each member is looked at once: nothing is copied before.
    /// - Throws: as `init(_:)`.
    package init(inPlace text: [UInt8]) throws(JSONError) {
        try self.init(inPlace: text, 0..<text.count)
    }

    init(inPlace text: [UInt8], _ range: Range<Int>) throws(JSONError) {
        var pass = Pass(text, range)
        storage = .places(try pass.object(opening: nil), in: text)
    }

    private init(_ places: [Place], in text: [UInt8]) { storage = .places(places, in: text) }

    /// The object in `text`, and the one in its member of a name, both found by one pass.
    /// - Returns: `opened` is nil if the last member of this name is no object, or there is none.
    /// - Throws: as `init(_:)`.
    package static func inPlace(
        _ text: [UInt8], opening name: String
    ) throws(JSONError) -> (whole: JSONObject, opened: JSONObject?) {
        var pass = Pass(text, 0..<text.count)
        let whole = JSONObject(try pass.object(opening: name), in: text)
        return (whole, pass.opened.map { JSONObject($0, in: text) })
    }

    /// Checks the object in a part of a text and finds its members.
    private struct Pass {
        let text: [UInt8]
        let end: Int
        var scanner: JSONScanner
        /// The members of the opened member.
        var opened: [Place]?

        init(_ text: [UInt8], _ range: Range<Int>) {
            self.text = text
            end = range.upperBound
            scanner = JSONScanner(at: range.lowerBound)
        }

        /// - Parameter name: the member that is opened.
        mutating func object(opening name: String?) throws(JSONError) -> [Place] {
            let text = text
            let span = text.span.extracting(..<end)
            scanner.skipSpace(in: span)
            guard scanner.peek(in: span) == UInt8(ascii: "{") else {
                throw JSONError(offset: scanner.at, reason: "no object begins here")
            }
            let places = try members(depth: 0, opening: name)
            try scanner.finish(in: span)
            return places
        }

        private mutating func members(
            depth: Int, opening name: String?
        ) throws(JSONError) -> [Place] {
            let text = text
            let span = text.span.extracting(..<end)
            var places: [Place] = []
            var deepest = depth + 1
            var more = try scanner.enter(closing: UInt8(ascii: "}"), depth: depth, in: span)
            if more { places.reserveCapacity(8) }
            while more {
                let key = try scanner.key(in: span)
                let start = scanner.at
                scanner.deepest = depth + 1
                if let name, JSONObject.isNamed(key, name, in: text) {
                    opened = nil
                    if scanner.peek(in: span) == UInt8(ascii: "{") {
                        opened = try members(depth: depth + 1, opening: nil)
                    } else {
                        try scanner.value(in: span, depth: depth + 1)
                    }
                } else {
                    try scanner.value(in: span, depth: depth + 1)
                }
                places.append(
                    Place(
                        key: key, value: start..<scanner.at, elements: scanner.elements,
                        levels: scanner.deepest - depth - 1))
                deepest = max(deepest, scanner.deepest)
                more = try scanner.next(closing: UInt8(ascii: "}"), in: span)
            }
            scanner.deepest = deepest
            return places
        }
    }

    private static let few = 100

    static func name(_ key: JSONScanner.StringToken, in text: [UInt8]) -> String {
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
            for place in places.reversed() where Self.isNamed(place.key, key, in: text) {
                return JSONSlice(
                    text, place.value, elements: place.elements, levels: place.levels)
            }
        }
        return nil
    }

    private static func isNamed(
        _ key: JSONScanner.StringToken, _ name: String, in text: [UInt8]
    ) -> Bool {
        if key.isEscaped {
            return name.utf8.reading { JSONText.isUnescaped(text, key.start..<key.end, $0) }
        }
        guard name.utf8.count == key.end - key.start else { return false }
        return name.utf8.reading { name in
            for at in name.indices where name[at] != text[key.start + at] { return false }
            return true
        }
    }

    /// The members whose name is not in `names`, in order; of duplicates, the last.
    public func members(except names: Set<String>) -> [JSONMember] {
        // Many are found where they lie before their names are made.
        if case .places(let places, _) = storage, places.count > Self.few {
            return members(except: names, knowing: []) { _, _ in true }
        }
        var seen: Set<Name> = []
        var kept: [JSONMember] = []
        func keep(_ key: String, _ count: Int, _ value: @autoclosure () -> RawJSON) {
            guard !names.contains(key) else { return }
            // To grow in steps would hash each name several times.
            if seen.isEmpty { seen.reserveCapacity(count) }
            guard seen.insert(Name(text: key)).inserted else { return }
            kept.append(JSONMember(key: key, value: value()))
        }
        switch storage {
        case .members(let members):
            for member in members.reversed() {
                keep(member.key, members.count, member.value)
            }
        case .places(let places, let text):
            for place in places.reversed() {
                keep(
                    Self.name(place.key, in: text), places.count, RawJSON(of: text, place.value))
            }
        }
        kept.reverse()
        return kept
    }

    /// A name by its bytes.
    private struct Name: Hashable {
        let text: String

        static func == (a: Name, b: Name) -> Bool { a.text.hasSameBytes(as: b.text) }

        func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
    }
}
