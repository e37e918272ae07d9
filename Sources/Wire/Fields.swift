import JSON

/// The fields of an untrusted object: the params of a request, or the body of a call of the server
/// API.
///
/// Each method decodes one field as one kind of value, or throws a `bad_request` with the field,
/// the kind that was seen and what is accepted; the message may show numbers, never a user's
/// strings. A `null` field counts as absent, except where `null` is a value of its own.
package struct Fields {
    /// The largest integer of the protocol: every client represents integers below 2^53 exactly.
    package static let largest = 1 << 53 - 1

    let object: JSONObject
    /// The prefix of a field's name in errors: `params.`, or empty.
    let prefix: String

    package init(_ object: JSONObject, prefix: String) {
        self.object = object
        self.prefix = prefix
    }

    /// The field's value; nil if it is absent or `null`.
    func value(_ name: String) -> JSONSlice? {
        guard let value = object.slice(name), !value.isNull else { return nil }
        return value
    }

    // MARK: Errors

    func missing(_ name: String, accepted: String) -> RequestError {
        RequestError(.fieldMissing, "\(prefix)\(name): missing (accepted: \(accepted))")
    }

    func refused(_ name: String, _ value: JSONSlice, accepted: String) -> RequestError {
        .invalid("\(prefix)\(name): \(value.shown) (accepted: \(accepted))")
    }

    func refused(_ name: String, seen: String, accepted: String) -> RequestError {
        .invalid("\(prefix)\(name): \(seen) (accepted: \(accepted))")
    }

    // MARK: Strings

    package func string(_ name: String) throws(RequestError) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.string else {
            throw refused(name, value, accepted: "a string")
        }
        return text
    }

    package func requiredString(_ name: String) throws(RequestError) -> String {
        guard let text = try string(name) else { throw missing(name, accepted: "a string") }
        return text
    }

    /// A string of at most 255 bytes that is stored or compared, but never parsed.
    func label(_ name: String) throws(RequestError) -> String? {
        let length = value(name)?.stringLength ?? 0
        guard length <= Identifier.limit else {
            throw refused(
                name, seen: "a string of \(length) bytes",
                accepted: "at most \(Identifier.limit) bytes")
        }
        return try string(name)
    }

    /// A string or `null`; nil if the field is absent.
    func stringOrNull(_ name: String) throws(RequestError) -> String?? {
        guard let value = object.slice(name) else { return nil }
        if value.isNull { return .some(nil) }
        guard let text = value.string else {
            throw refused(name, value, accepted: "a string or null")
        }
        return text
    }

    /// One of the words of `Word`.
    func word<Word>(
        _ name: String, as type: Word.Type
    ) throws(RequestError) -> Word? where Word: RawRepresentable<String> & CaseIterable {
        guard let value = value(name) else { return nil }
        let accepted = Word.allCases.map(\.rawValue).joined(separator: ", ")
        guard let text = value.string else { throw refused(name, value, accepted: accepted) }
        guard let word = Word(rawValue: text) else {
            throw refused(name, seen: "another string", accepted: accepted)
        }
        return word
    }

    // MARK: Ids

    package func id(_ name: String) throws(RequestError) -> String? {
        guard let value = value(name) else { return nil }
        return try id(value, name)
    }

    package func requiredID(_ name: String) throws(RequestError) -> String {
        guard let id = try id(name) else { throw missing(name, accepted: Identifier.accepted) }
        return id
    }

    /// A list of ids; `null` is refused, because it could mean "none" or "unchanged". Of a list
    /// that is too long nothing is built.
    func ids(_ name: String, count: ClosedRange<Int>) throws(RequestError) -> [String]? {
        guard let value = object.slice(name) else { return nil }
        guard let length = value.count else {
            throw refused(name, value, accepted: Self.accepted(count))
        }
        guard length <= count.upperBound else {
            throw RequestError(
                .limitArray,
                "\(prefix)\(name): an array of \(length) (accepted: \(Self.accepted(count)))")
        }
        guard count.contains(length) else {
            throw refused(name, seen: "an array of \(length)", accepted: Self.accepted(count))
        }
        var ids: [String] = []
        ids.reserveCapacity(length)
        try value.visit { element throws(RequestError) in
            ids.append(try id(element, "\(name)[\(ids.count)]"))
        }
        return ids
    }

    func requiredIDs(_ name: String, count: ClosedRange<Int>) throws(RequestError) -> [String] {
        guard let ids = try ids(name, count: count) else {
            throw missing(name, accepted: Self.accepted(count))
        }
        return ids
    }

    private static func accepted(_ count: ClosedRange<Int>) -> String {
        "an array of \(count.lowerBound)–\(count.upperBound) ids"
    }

    /// - Parameter name: only made for an error, since a list may have thousands of ids.
    private func id(
        _ value: JSONSlice, _ name: @autoclosure () -> String
    ) throws(RequestError) -> String {
        guard value.kind == .string else {
            throw refused(name(), value, accepted: Identifier.accepted)
        }
        guard !value.isSurelyLonger(than: Identifier.limit), let text = value.string,
            Identifier.isValid(text)
        else { throw refused(name(), seen: "no id", accepted: Identifier.accepted) }
        return text
    }

    /// The key of a reaction.
    func reactionKey() throws(RequestError) -> String? {
        guard let value = value("key") else { return nil }
        guard let text = value.string else {
            throw refused("key", value, accepted: Identifier.acceptedKey)
        }
        guard Identifier.isKey(text) else {
            throw refused(
                "key", seen: "a string of \(text.utf8.count) bytes",
                accepted: Identifier.acceptedKey)
        }
        return text
    }

    func requiredReactionKey() throws(RequestError) -> String {
        guard let key = try reactionKey() else {
            throw missing("key", accepted: Identifier.acceptedKey)
        }
        return key
    }

    // MARK: Numbers and booleans

    func integer(_ name: String, in range: ClosedRange<Int>) throws(RequestError) -> Int? {
        guard let value = value(name) else { return nil }
        return try Self.integer(value, "\(prefix)\(name)", in: range)
    }

    func requiredInteger(
        _ name: String, in range: ClosedRange<Int>
    ) throws(RequestError) -> Int {
        guard let number = try integer(name, in: range) else {
            throw missing(name, accepted: "an integer, \(range.phrase)")
        }
        return number
    }

    /// A value as an integer; `field` is its full name.
    static func integer(
        _ value: JSONSlice, _ field: String, in range: ClosedRange<Int>
    ) throws(RequestError) -> Int {
        guard let number = value.int else {
            throw .invalid(
                "\(field): \(value.shown) (accepted: an integer, \(range.phrase))")
        }
        guard range.contains(number) else {
            throw .invalid("\(field): \(number) is out of range (\(range.phrase))")
        }
        return number
    }

    /// The `rev` that the value must have for the change to apply.
    func ifRev() throws(RequestError) -> Int? { try integer("ifRev", in: 0...Self.largest) }

    func flag(_ name: String) throws(RequestError) -> Bool? {
        guard let value = value(name) else { return nil }
        guard let flag = value.bool else {
            throw refused(name, value, accepted: "true or false")
        }
        return flag
    }

    func requiredFlag(_ name: String) throws(RequestError) -> Bool {
        guard let flag = try flag(name) else { throw missing(name, accepted: "true or false") }
        return flag
    }

    // MARK: Objects

    /// The fields of a nested object.
    func fields(_ name: String) throws(RequestError) -> Fields? {
        guard let value = value(name) else { return nil }
        guard let object = value.object else {
            throw refused(name, value, accepted: "an object")
        }
        return Fields(object, prefix: "\(prefix)\(name).")
    }

    /// An object, kept as its text; `null` is refused.
    func objectText(_ name: String) throws(RequestError) -> RawJSON? {
        guard let value = object.slice(name) else { return nil }
        guard value.kind == .object else { throw refused(name, value, accepted: "an object") }
        return try kept(value, name)
    }

    /// An object, kept as its text; `null` counts as absent.
    func objectTextOrNull(_ name: String) throws(RequestError) -> RawJSON? {
        guard let value = value(name) else { return nil }
        guard value.kind == .object else {
            throw refused(name, value, accepted: "an object or null")
        }
        return try kept(value, name)
    }

    /// The fields that are not in `names`: the application's, kept as text.
    func unknown(except names: Set<String>) throws(RequestError) -> UnknownFields {
        let fields = UnknownFields(of: object, except: names)
        guard fields.isKept else { throw Self.tooDeep("\(prefix)an unknown field") }
        return fields
    }

    private func kept(_ slice: JSONSlice, _ name: String) throws(RequestError) -> RawJSON {
        guard slice.levels <= Nesting.limit else { throw Self.tooDeep("\(prefix)\(name)") }
        return slice.raw
    }

    private static func tooDeep(_ field: String) -> RequestError {
        .invalid("\(field): nested too deep (accepted: at most \(Nesting.limit) levels)")
    }
}

extension RawJSON {
    /// A longer number is a text that somebody made up.
    static let shownLimit = 32

    /// The value as an error names it: a number and a boolean as they were sent, of all else the
    /// kind, because it may be what a user typed.
    package var shown: String {
        let isShown = kind == .bool || (kind == .number && bytes.count <= Self.shownLimit)
        return isShown ? String(decoding: bytes, as: UTF8.self) : kind.phrase
    }

    /// How an error names a text of a query that is none of what is accepted: nil where it is no
    /// number.
    package var numberShown: String? { kind == .number ? shown : nil }
}

extension JSONSlice {
    /// The value as an error names it.
    var shown: String {
        switch kind {
        case .bool, .number: raw.shown
        case .null, .string, .array, .object: kind.phrase
        }
    }
}

extension ClosedRange<Int> {
    /// The range as an error names it.
    package var phrase: String { "\(lowerBound)…\(upperBound)" }
}
