import Chat
import JSON

/// The two forms of an anchor: a JSON value in a frame, and text in a query.
extension Fields {
    /// A number (a seq), a string (a message id) or `{"time": …}`; nil if the field is absent.
    func anchor(_ name: String) throws(RequestError) -> Anchor? {
        guard let value = value(name) else { return nil }
        switch value.kind {
        case .number:
            return .seq(try Self.integer(value, "\(prefix)\(name)", in: Anchor.places))
        case .string:
            return try id(name).map { .id($0) }
        case .object:
            let inner = try fields(name)
            let accepted = "a date and time of RFC 3339"
            guard let text = try inner?.string("time") else {
                throw missing("\(name).time", accepted: accepted)
            }
            guard let moment = Timestamp(text) else {
                throw refused("\(name).time", seen: "another string", accepted: accepted)
            }
            return .time(moment)
        case .null, .bool, .array:
            throw refused(name, value, accepted: Anchor.accepted)
        }
    }
}

extension Anchor {
    /// The seqs that an anchor can have: 0 is before the first message, 2^53 after the last.
    static let places = 0...Fields.largest + 1
    static let accepted = "a seq, a message id or {\"time\": a date and time of RFC 3339}"

    /// An anchor in a query of the server API: `7` is a seq, `id:abc` an id, `time:…` a moment.
    /// - Parameter field: the param's name, for the error.
    /// - Throws: `bad_request`, without the text unless it is a number.
    package static func decode(
        query text: String, field: String
    ) throws(RequestError) -> Anchor {
        // Compares bytes: as characters, a colon and a combining mark after it would be one.
        let bytes = Array(text.utf8)
        if bytes.starts(with: "id:".utf8) {
            let id = String(decoding: bytes.dropFirst(3), as: UTF8.self)
            if Identifier.isValid(id) { return .id(id) }
        } else if bytes.starts(with: "time:".utf8) {
            // An unencoded `+` arrives as a space; only an offset can hold one.
            let space = UInt8(ascii: " ")
            let moment = bytes.dropFirst(5).map { $0 == space ? UInt8(ascii: "+") : $0 }
            if let time = Timestamp(utf8: moment) { return .time(time) }
        } else if let seq = seq(text) {
            return .seq(seq)
        }
        let seen = (try? RawJSON(bytes))?.numberShown ?? "no anchor"
        throw .invalid(
            "\(field): \(seen) (accepted: a seq, id: and a message id, or time: and a date and "
                + "time of RFC 3339)")
    }

    /// Digits only, at most 2^53.
    private static func seq(_ text: String) -> Int? {
        let isNumeral = text.utf8.allSatisfy {
            $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")
        }
        guard isNumeral, let seq = Int(text), places.contains(seq) else { return nil }
        return seq
    }
}
