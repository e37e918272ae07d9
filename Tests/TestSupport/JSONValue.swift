import Foundation

/// A JSON value as the tests read it, by way of Foundation and so independent of the gateway's
/// own reader and writer. A missing member reads as `.null`, so that a chain of subscripts never
/// stops a test before its expectation does.
package enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// - Throws: Foundation's error where `bytes` are not one JSON value.
    package init(parsing bytes: [UInt8]) throws {
        let data = Self.keepingMarks(Data(bytes))
        let value = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
        self.init(foundation: value)
    }

    /// Foundation drops a byte order mark that a string begins with. It is a character like any
    /// other, and people send it: as an escape it stays.
    private static func keepingMarks(_ data: Data) -> Data {
        let mark = Data([0xEF, 0xBB, 0xBF])
        guard data.range(of: mark) != nil else { return data }
        var kept = data
        while let range = kept.range(of: mark) {
            kept.replaceSubrange(range, with: Data("\\ufeff".utf8))
        }
        return kept
    }

    private init(foundation value: Any) {
        switch value {
        case let text as String: self = .string(text)
        case let members as [String: Any]: self = .object(members.mapValues(Self.init(foundation:)))
        case let elements as [Any]: self = .array(elements.map(Self.init(foundation:)))
        case let number as NSNumber: self = Self(number)
        default: self = .null
        }
    }

    private init(_ number: NSNumber) {
        // Foundation tells a Bool from a number by its Objective-C type alone.
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "c"), UInt8(ascii: "B"): self = .bool(number.boolValue)
        case UInt8(ascii: "d"), UInt8(ascii: "f"):
            self =
                Int(exactly: number.doubleValue).map(JSONValue.int) ?? .double(number.doubleValue)
        default: self = .int(number.intValue)
        }
    }

    /// The text, keys sorted.
    package var bytes: [UInt8] {
        let options: JSONSerialization.WritingOptions = [
            .fragmentsAllowed, .sortedKeys, .withoutEscapingSlashes,
        ]
        let data = try? JSONSerialization.data(withJSONObject: foundation, options: options)
        return Array(data ?? Data())
    }

    private var foundation: Any {
        switch self {
        case .null: NSNull()
        case .bool(let value): value
        case .int(let value): value
        case .double(let value): value
        case .string(let value): value
        case .array(let values): values.map(\.foundation)
        case .object(let members): members.mapValues(\.foundation)
        }
    }
}

extension JSONValue {
    package var isNull: Bool { self == .null }

    package var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    package var int: Int? {
        if case .int(let value) = self { value } else { nil }
    }

    package var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    package var array: [JSONValue]? {
        if case .array(let values) = self { values } else { nil }
    }

    package var object: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }

    package subscript(key: String) -> JSONValue {
        get { object?[key] ?? .null }
        set {
            var members = object ?? [:]
            members[key] = newValue
            self = .object(members)
        }
    }

    package subscript(index: Int) -> JSONValue {
        guard let array, array.indices.contains(index) else { return .null }
        return array[index]
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral, ExpressibleByFloatLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int) { self = .int(value) }
    package init(floatLiteral value: Double) { self = .double(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(nilLiteral: ()) { self = .null }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
}

extension JSONValue: CustomStringConvertible {
    package var description: String { String(decoding: bytes, as: UTF8.self) }
}
