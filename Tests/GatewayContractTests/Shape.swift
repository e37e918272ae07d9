import TestSupport

/// The exact fields of an object of the protocol and what each may be. A field that is missing,
/// one that nobody announced and one of another type are faults, each a sentence with its path.
struct Shape: Sendable {
    indirect enum Kind: Sendable {
        case string
        /// 1 to 255 bytes.
        case id
        case integer(from: Int)
        case number
        case bool
        /// RFC 3339 in UTC with milliseconds.
        case moment
        case object
        case any
        case exactly(JSONValue)
        case word([String])
        case array(Kind)
        case orNull(Kind)
        case shape(Shape)
        /// `[[low, high], …]`, disjoint, ascending, never touching.
        case coverage
    }

    var required: [String: Kind]
    var optional: [String: Kind] = [:]

    init(_ required: [String: Kind], optional: [String: Kind] = [:]) {
        self.required = required
        self.optional = optional
    }

    /// The same with more fields.
    func with(_ more: [String: Kind], optional: [String: Kind] = [:]) -> Shape {
        Shape(
            required.merging(more) { _, last in last },
            optional: self.optional.merging(optional) { _, last in last })
    }

    /// The same without these fields.
    func without(_ names: String...) -> Shape {
        Shape(
            required.filter { !names.contains($0.key) },
            optional: optional.filter { !names.contains($0.key) })
    }

    /// What is wrong with `value`.
    func faults(_ value: JSONValue, at path: String = "$") -> [String] {
        guard let members = value.object else { return ["\(path): not an object: \(value)"] }
        var faults: [String] = []
        for (name, kind) in required {
            if let member = members[name] {
                faults += kind.faults(member, at: "\(path).\(name)")
            } else {
                faults.append("\(path).\(name): missing")
            }
        }
        for (name, member) in members where required[name] == nil {
            if let kind = optional[name] {
                faults += kind.faults(member, at: "\(path).\(name)")
            } else {
                faults.append("\(path).\(name): not announced")
            }
        }
        return faults.sorted()
    }
}

extension Shape.Kind {
    func faults(_ value: JSONValue, at path: String) -> [String] {
        switch self {
        case .array(let kind):
            guard let elements = value.array else { return ["\(path): not an array: \(value)"] }
            return elements.enumerated().flatMap { kind.faults($1, at: "\(path)[\($0)]") }
        case .orNull(let kind): return value.isNull ? [] : kind.faults(value, at: path)
        case .shape(let shape): return shape.faults(value, at: path)
        default: return isMet(by: value) ? [] : ["\(path): \(value) is no \(self)"]
        }
    }

    private func isMet(by value: JSONValue) -> Bool {
        switch self {
        case .string: value.string != nil
        case .id: value.string.map { (1...255).contains($0.utf8.count) } ?? false
        case .integer(let least): value.int.map { $0 >= least } ?? false
        case .number: if case .double = value { true } else { value.int != nil }
        case .bool: value.bool != nil
        case .moment: Self.isMoment(value.string)
        case .object: value.object != nil
        case .any: true
        case .exactly(let expected): value == expected
        case .word(let words): value.string.map { words.contains($0) } ?? false
        case .coverage: Self.isCoverage(value)
        case .array, .orNull, .shape: false
        }
    }

    private static func isMoment(_ text: String?) -> Bool {
        guard let text else { return false }
        let pattern = "0000-00-00T00:00:00.000Z"
        return text.utf8.count == pattern.utf8.count
            && zip(text.utf8, pattern.utf8).allSatisfy { byte, model in
                model == UInt8(ascii: "0") ? (0x30...0x39).contains(byte) : byte == model
            }
    }

    private static func isCoverage(_ value: JSONValue) -> Bool {
        guard let runs = value.array else { return false }
        var last = -1
        for run in runs {
            guard run.array?.count == 2, let low = run[0].int, let high = run[1].int, low >= 1,
                low <= high, low > last + 1
            else { return false }
            last = high
        }
        return true
    }
}
