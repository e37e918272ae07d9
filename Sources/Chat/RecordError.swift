import JSON

/// Why a JSON text is not the requested record: the field, what was seen there, and what is
/// accepted. It never carries the value itself, which may be a user's text.
public struct RecordError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of record that was being read: `message`, `conversation`, …
    public var record: String
    /// The field's path from the outermost record: `lastMessage.seq`. Empty if the whole text is
    /// wrong.
    public var field: String
    /// The kind of value that was seen there, as a phrase.
    public var seen: String
    /// What is accepted there, as a phrase.
    public var accepted: String

    /// An error at a field.
    public init(record: String, field: String, seen: String, accepted: String) {
        self.record = record
        self.field = field
        self.seen = seen
        self.accepted = accepted
    }

    /// `read message: seq is a string (accepted: an integer from 1 to 2^53 - 1)`
    public var description: String {
        let place = field.isEmpty ? "the text" : field
        return "read \(record): \(place) is \(seen) (accepted: \(accepted))"
    }

    /// A text that is not JSON, or not an object.
    init(record: String, _ error: JSONError) {
        self.init(
            record: record, field: "", seen: "wrong at byte \(error.offset): \(error.reason)",
            accepted: "one JSON object")
    }

    /// A required field is missing.
    static func missing(_ field: String, of record: String) -> RecordError {
        RecordError(record: record, field: field, seen: "missing", accepted: "required")
    }

    /// The same error, as the record that holds this one in `outer` reports it.
    func inside(_ outer: String, of record: String) -> RecordError {
        var error = self
        error.record = record
        error.field = field.isEmpty ? outer : outer + "." + field
        return error
    }
}
