/// Writes a JSON text, front to back, without white space.
///
/// The writer adds the commas; the caller supplies names and values in order and closes what it
/// opens. Escapes only what must be escaped (quotation mark, backslash, control characters).
/// Nothing else is checked: the output is as correct as the calling code, which is short.
public struct JSONWriter: Sendable {
    /// The text so far.
    public private(set) var bytes: [UInt8]
    /// Whether the next element needs a comma before it.
    private var needsComma = false

    /// An empty text with room for `capacity` bytes.
    public init(capacity: Int = 256) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    // MARK: Structure

    /// Opens an object.
    public mutating func beginObject() { open(UInt8(ascii: "{")) }
    /// Closes the object.
    public mutating func endObject() { close(UInt8(ascii: "}")) }
    /// Opens an array.
    public mutating func beginArray() { open(UInt8(ascii: "[")) }
    /// Closes the array.
    public mutating func endArray() { close(UInt8(ascii: "]")) }

    private mutating func open(_ bracket: UInt8) {
        beginValue()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func beginValue() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    /// The name of the member whose value comes next.
    public mutating func key(_ name: String) {
        beginValue()
        Self.append(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    // MARK: Values

    /// A string.
    public mutating func string(_ value: String) {
        beginValue()
        Self.append(value, to: &bytes)
    }

    /// An integer.
    public mutating func int(_ value: Int) { int(Int64(value)) }

    /// An integer.
    public mutating func int(_ value: Int64) {
        beginValue()
        Self.append(value, to: &bytes)
    }

    /// Appends the text of an integer.
    public static func append(_ value: Int64, to bytes: inout [UInt8]) {
        bytes.append(addingCapacity: OutputSpan<UInt8>.integerRoom) { $0.append(integer: value) }
    }

    /// A number; a value that is not finite becomes `null`, since JSON can't express it.
    public mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        beginValue()
        bytes.append(contentsOf: value.description.utf8)
    }

    /// `true` or `false`.
    public mutating func bool(_ value: Bool) {
        beginValue()
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    /// `null`.
    public mutating func null() {
        beginValue()
        bytes.append(contentsOf: "null".utf8)
    }

    /// A value that is already JSON text.
    public mutating func raw(_ value: [UInt8]) {
        beginValue()
        bytes.append(contentsOf: value)
    }

    /// A value that is already JSON text.
    public mutating func raw(_ value: RawJSON) { raw(value.bytes) }

    /// A value that `append` writes.
    public mutating func raw(with append: (inout [UInt8]) -> Void) {
        beginValue()
        append(&bytes)
    }

    /// A value that `append` writes into space that is reserved once: for a thousand small pieces
    /// in a row, reserving would otherwise dominate the cost.
    /// - Parameter room: the most bytes that `append` writes.
    public mutating func raw(room: Int, with append: (inout OutputSpan<UInt8>) -> Void) {
        beginValue()
        bytes.append(addingCapacity: room, initializingWith: append)
    }

    // MARK: Members

    /// A member with a string.
    public mutating func member(_ name: String, string value: String) {
        key(name)
        string(value)
    }

    /// A member with a string or `null`.
    public mutating func member(_ name: String, string value: String?) {
        key(name)
        if let value { string(value) } else { null() }
    }

    /// A member with an integer.
    public mutating func member(_ name: String, int value: Int) {
        key(name)
        int(value)
    }

    /// A member with a boolean.
    public mutating func member(_ name: String, bool value: Bool) {
        key(name)
        bool(value)
    }

    /// A member whose value is already JSON text.
    public mutating func member(_ name: String, raw value: [UInt8]) {
        key(name)
        raw(value)
    }

    /// A member whose value is already JSON text.
    public mutating func member(_ name: String, raw value: RawJSON) {
        key(name)
        raw(value)
    }

    /// A member exactly as it was read.
    public mutating func member(_ member: JSONMember) {
        key(member.key)
        raw(member.value)
    }

    // MARK: Strings

    /// Appends the text of a string.
    public static func append(_ value: String, to bytes: inout [UInt8]) {
        let text = value.utf8
        // Messages are long, so one pass decides how much space is reserved, and none is wasted.
        let isPlain = OutputSpan<UInt8>.isPlain(text)
        bytes.append(addingCapacity: OutputSpan<UInt8>.room(for: text, isPlain: isPlain)) {
            $0.append(string: text, isPlain: isPlain)
        }
    }
}
