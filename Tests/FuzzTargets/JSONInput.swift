import JSON

/// A JSON text: what is taken is passed on byte for byte, means the same to every reader of this
/// house, and lies no deeper than the limit.
enum JSONInput {
    private static let depthLimit = 64

    static func run(_ bytes: [UInt8]) {
        guard let value = try? RawJSON(bytes) else {
            require((try? JSONObject(bytes)) == nil, "an object is a value")
            return
        }
        require(depth(of: value.bytes) <= depthLimit, "depth limit")
        require(value.bytes == trimmed(bytes), "a value is its text without white space around it")
        splice(value)
        canonical(value)
        scalar(value)
        if let array = value.array { elements(array, of: value) }
        require((value.kind == .array) == (value.array != nil), "an array has elements")
        require((value.kind == .object) == (value.object != nil), "an object has members")
        if let object = value.object { members(object) }
        pairs(value)
    }

    private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        let blanks: Set<UInt8> = [0x20, 0x0A, 0x0D, 0x09]
        return bytes.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed()
    }

    /// The deepest nesting of a text that is valid, counted without the scanner.
    private static func depth(of text: [UInt8]) -> Int {
        var depth = 0
        var deepest = 0
        var isInString = false
        var isEscaped = false
        for byte in text {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isInString: isEscaped = true
            case UInt8(ascii: "\""): isInString.toggle()
            case _ where isInString: break
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
            deepest = max(deepest, depth)
        }
        require(depth == 0 && !isInString, "brackets and quotation marks in pairs")
        return deepest
    }

    private static func splice(_ value: RawJSON) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("before", int: 1)
        writer.member("value", raw: value)
        writer.member("behind", string: "\u{0}\"\\")
        writer.endObject()
        guard let spliced = try? JSONObject(writer.bytes) else {
            require(depth(of: value.bytes) == depthLimit, "a value that is spliced is valid")
            return
        }
        require(spliced["value"] == value, "spliced byte for byte")
        require(spliced.members.count == 3, "a value brings no members")
        require(spliced["behind"]?.string == "\u{0}\"\\", "what follows a value stays")
    }

    private static func canonical(_ value: RawJSON) {
        let text = value.canonical()
        guard let read = try? RawJSON(text) else {
            return require(false, "a canonical text is valid")
        }
        require(read.bytes == text, "a canonical text has no white space around it")
        require(read.canonical() == text, "canonical() is idempotent")
        require(read.kind == value.kind, "a canonical text is of the same kind")
        require(read.string == value.string, "a canonical text means the same string")
    }

    private static func scalar(_ value: RawJSON) {
        if let string = value.string {
            let written = RawJSON(string: string)
            require((try? RawJSON(written.bytes)) == written, "a written string is valid")
            require(isSame(written.string, string), "a written string means the same")
            require(written.bytes == value.canonical(), "a string is written canonically")
        }
        require((value.kind == .string) == (value.string != nil), "a string has characters")
        if let int = value.int {
            require(RawJSON(int: int).int == int, "a written integer means the same")
            require(value.double == Double(int), "integer and double agree")
        }
    }

    private static func isSame(_ a: String?, _ b: String) -> Bool {
        a.map { $0.utf8.elementsEqual(b.utf8) } ?? false
    }

    private static func elements(_ array: [RawJSON], of value: RawJSON) {
        var writer = JSONWriter()
        writer.beginArray()
        for element in array {
            require((try? RawJSON(element.bytes)) == element, "an element is a value")
            writer.raw(element)
        }
        writer.endArray()
        let written = RawJSON(unchecked: writer.bytes)
        require(written.array == array, "the elements are the array")
        require(written.canonical() == value.canonical(), "the elements mean the array")
    }

    private static func members(_ object: JSONObject) {
        var writer = JSONWriter()
        writer.beginObject()
        for member in object.members {
            require((try? RawJSON(member.value.bytes)) == member.value, "a member is a value")
            writer.member(member)
        }
        writer.endObject()
        let written = try? JSONObject(writer.bytes)
        require(written?.members == object.members, "the members are the object")
        var last: [[UInt8]: RawJSON] = [:]
        for member in object.members { last[Array(member.key.utf8)] = member.value }
        for member in object.members {
            require(object[member.key] == last[Array(member.key.utf8)], "the last of a name counts")
        }
        let unique = object.members(except: [])
        require(unique.count == last.count, "each name once")
    }

    /// The short reader of pairs says what the general one says, and takes what is in its form.
    private static func pairs(_ value: RawJSON) {
        let general = value.array?.map(\.array)
        if let pairs = value.integerPairs {
            require(pairs.count == general?.count, "as many pairs")
            for (pair, element) in zip(pairs, general ?? []) {
                require(element?.map(\.int) == [pair.first, pair.second], "the same pair")
            }
            return
        }
        let form = Set("0123456789,[]".utf8)
        guard let general, value.bytes.allSatisfy(form.contains) else { return }
        let arePairs = general.allSatisfy { pair in
            pair?.count == 2 && pair?.allSatisfy { $0.bytes.count <= 16 && $0.int != nil } == true
        }
        require(!arePairs, "pairs in the short form are taken")
    }
}
