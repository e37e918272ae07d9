import JSON

/// One member of a record that is being decoded: each method takes its value as one kind, or throws
/// a `RecordError` with what was seen instead.
struct RecordField {
    /// The largest seq, rev or count: the largest integer that a JSON reader with doubles keeps
    /// exact.
    static let integerLimit = 1 << 53 - 1

    /// The kind of record, for errors.
    let record: String
    let member: JSONMember

    init(of record: String, _ member: JSONMember) {
        self.record = record
        self.member = member
    }

    /// Whether the value is `null`, which an optional field treats as absent.
    var isNull: Bool { member.value.kind == .null }

    /// The error for a value that is not what is accepted.
    private func refused(_ accepted: String, seen: String? = nil) -> RecordError {
        RecordError(
            record: record, field: member.key, seen: seen ?? member.value.kind.phrase,
            accepted: accepted)
    }

    /// An id: a non-empty string. The gateway checks its length.
    func id() throws(RecordError) -> String {
        let accepted = "a string that is not empty"
        guard let text = member.value.string else { throw refused(accepted) }
        guard !text.isEmpty else { throw refused(accepted, seen: "an empty string") }
        return text
    }

    func string() throws(RecordError) -> String {
        guard let text = member.value.string else { throw refused("a string") }
        return text
    }

    func bool() throws(RecordError) -> Bool {
        guard let value = member.value.bool else { throw refused("true or false") }
        return value
    }

    /// An integer from `low` to 2^53 - 1.
    func integer(from low: Int) throws(RecordError) -> Int {
        let accepted = "an integer from \(low) to 2^53 - 1"
        guard member.value.kind == .number else { throw refused(accepted) }
        guard let number = member.value.int, low <= number, number <= Self.integerLimit else {
            throw refused(accepted, seen: "another number")
        }
        return number
    }

    func moment() throws(RecordError) -> Timestamp {
        let accepted = "a date and time of RFC 3339"
        guard let text = member.value.string else { throw refused(accepted) }
        guard let moment = Timestamp(text) else { throw refused(accepted, seen: "another string") }
        return moment
    }

    /// An object, kept as its text.
    func objectText() throws(RecordError) -> RawJSON {
        guard member.value.kind == .object else { throw refused("an object") }
        return member.value
    }

    func object() throws(RecordError) -> JSONObject {
        guard let object = member.value.object else { throw refused("an object") }
        return object
    }

    /// A list of ids.
    func ids() throws(RecordError) -> [String] {
        let accepted = "an array of strings that are not empty"
        guard let elements = member.value.array else { throw refused(accepted) }
        var ids: [String] = []
        ids.reserveCapacity(elements.count)
        for element in elements {
            guard let id = element.string, !id.isEmpty else {
                throw refused(accepted, seen: "an array with something else in it")
            }
            ids.append(id)
        }
        return ids
    }

    /// One of the words of `Word`.
    func word<Word>(
        _ type: Word.Type
    ) throws(RecordError) -> Word where Word: RawRepresentable<String> & CaseIterable {
        let accepted = Word.allCases.map(\.rawValue).joined(separator: ", ")
        guard let text = member.value.string else { throw refused(accepted) }
        guard let word = Word.allCases.first(where: { $0.rawValue == text }) else {
            throw refused(accepted, seen: "another string")
        }
        return word
    }

    /// A nested record; its errors name the path to it.
    func nested<Value>(
        _ read: (JSONObject) throws(RecordError) -> Value
    ) throws(RecordError) -> Value {
        let inner = try object()
        do throws(RecordError) {
            return try read(inner)
        } catch {
            throw error.inside(member.key, of: record)
        }
    }
}

extension JSONObject {
    /// The object in `text`, for a record of the given kind.
    init(_ text: [UInt8], record: String) throws(RecordError) {
        do throws(JSONError) {
            try self.init(text)
        } catch {
            throw RecordError(record: record, error)
        }
    }
}
