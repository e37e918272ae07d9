import Upstream

/// The type of a key's value: how it is read from what was written, how it is written to a file,
/// and the phrase that says what is accepted.
struct ValueKind<Value: Equatable & Sendable>: Sendable {
    /// Completes "accepted: …".
    let accepted: String
    /// Whether the value may hold a secret and must not be shown.
    var isSecret = false
    /// The value, or nil if it is not accepted.
    let read: @Sendable (SettingValue) -> Value?
    /// The part of a value that is not accepted; nil: all of it.
    var fault: (@Sendable (SettingValue) -> SettingValue?)?
    /// As JSON5; `read` returns the same value from it.
    let literal: @Sendable (Value) -> String
}

extension ValueKind {
    /// Accepts what `kind` accepts, or nothing: an empty word, or no key at all.
    static func optional<Wrapped>(
        _ kind: ValueKind<Wrapped>
    ) -> ValueKind where Value == Wrapped? {
        ValueKind(
            accepted: kind.accepted, isSecret: kind.isSecret,
            read: { value in
                if value == .word("") { return .some(nil) }
                return kind.read(value).map { .some($0) }
            },
            literal: { $0.map(kind.literal) ?? "null" })
    }

    /// A list of values that `kind` accepts.
    static func list<Element>(
        _ kind: ValueKind<Element>
    ) -> ValueKind where Value == [Element] {
        ValueKind(
            accepted: "a list, each of it \(kind.accepted)", isSecret: kind.isSecret,
            read: { value in
                guard let elements = value.elements else { return nil }
                let values = elements.compactMap(kind.read)
                return values.count == elements.count ? values : nil
            },
            fault: { value in value.elements?.first { kind.read($0) == nil } },
            literal: { "[" + $0.map(kind.literal).joined(separator: ", ") + "]" })
    }
}

extension ValueKind where Value == Bool {
    static let flag = ValueKind(
        accepted: "true or false",
        read: { value in
            switch value {
            case .bool(let flag): flag
            case .word("true"): true
            case .word("false"): false
            default: nil
            }
        },
        literal: { "\($0)" })
}

extension ValueKind where Value == Int {
    static func count(_ range: ClosedRange<Int>) -> ValueKind {
        ValueKind(
            accepted: range.count == 1
                ? "\(range.lowerBound) and nothing else"
                : "a whole number from \(range.lowerBound) to \(range.upperBound)",
            read: { $0.numeral.flatMap { Int($0) }.flatMap { range.contains($0) ? $0 : nil } },
            literal: { "\($0)" })
    }

    static func size(_ range: ClosedRange<Int>) -> ValueKind {
        let low = Words.write(size: range.lowerBound)
        let high = Words.write(size: range.upperBound)
        return ValueKind(
            accepted: "a size from \(low) to \(high) (B, KiB, MiB, GiB)",
            read: {
                $0.numeral.flatMap(Words.size).flatMap { range.contains($0) ? $0 : nil }
            },
            literal: { quoted(Words.write(size: $0)) })
    }
}

extension ValueKind where Value == Double {
    static func number(_ range: ClosedRange<Double>) -> ValueKind {
        ValueKind(
            accepted: "a number from \(range.lowerBound) to \(range.upperBound)",
            read: { $0.numeral.flatMap { Double($0) }.flatMap { range.contains($0) ? $0 : nil } },
            literal: { "\($0)" })
    }
}

extension ValueKind where Value == Milliseconds {
    /// - Parameter range: in milliseconds; shown as a file would write it.
    static func duration(_ range: ClosedRange<Milliseconds>) -> ValueKind {
        let low = Words.write(duration: range.lowerBound)
        let high = Words.write(duration: range.upperBound)
        return ValueKind(
            accepted: "a duration from \(low) to \(high) (ms, s, m, h, d)",
            read: {
                $0.numeral.flatMap(Words.duration).flatMap { range.contains($0) ? $0 : nil }
            },
            literal: { quoted(Words.write(duration: $0)) })
    }
}

extension ValueKind where Value == String {
    static let text = checked("a text that is not empty, without control characters") { _ in true }
    /// `:memory:` is none: SQLite would keep it in memory.
    static let path = checked("the path of a file") { $0 != ":memory:" }

    /// `https://chat.example.org`, as a browser writes it.
    static let origin = checked("an origin, such as https://chat.example.org") { text in
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 3 && ["http:", "https:"].contains(parts[0]) && parts[1].isEmpty
            && (Address(String(parts[2])) ?? Address("\(parts[2]):1")) != nil
            && text == text.lowercased()
    }

    /// `gapless.example.org`, as in the header `Host`: with a port, or without one for any port.
    static let host = checked("a host, such as gapless.example.org") { text in
        (Address(text) ?? Address("\(text):1")) != nil
    }

    /// The address of a Redis server; it may carry a password.
    static let redis = {
        var kind = checked("redis[s]://[user:password@]host:port/db") { text in
            text.hasPrefix("redis://") || text.hasPrefix("rediss://")
        }
        kind.isSecret = true
        return kind
    }()

    /// A database as libpq takes it; it may carry a password.
    static let postgres = {
        let accepted = "postgres://[user[:password]@]host[:port]/database, or key=value words"
        var kind = checked(accepted) { PostgresOptions(url: $0).isAccepted }
        kind.isSecret = true
        return kind
    }()

    /// The name of a schema or of a role. A longer one the database would cut off, and `$user` is
    /// no schema of that name to it.
    static let identifier = checked(
        "the name of a schema or a role: 1–63 bytes, without $, not pg_…, public or none"
    ) { text in
        text.utf8.count <= 63 && !text.contains("$") && !text.hasPrefix("pg_")
            && !["public", "none"].contains(text)
    }

    private static func checked(
        _ accepted: String, _ holds: @escaping @Sendable (String) -> Bool
    ) -> ValueKind {
        ValueKind(
            accepted: accepted,
            read: { value in
                guard let text = value.text, !text.isEmpty, holds(text),
                    !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
                else { return nil }
                return text
            },
            literal: { quoted($0) })
    }
}

extension ValueKind where Value == Address {
    static let address = ValueKind(
        accepted: "HOST:PORT, such as 127.0.0.1:8000 or [::1]:8000",
        read: { $0.text.flatMap(Address.init) },
        literal: { quoted("\($0)") })
}

extension ValueKind
where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    static var choice: ValueKind {
        ValueKind(
            accepted: Value.allCases.map(\.rawValue).joined(separator: " | "),
            read: { $0.text.flatMap(Value.init(rawValue:)) },
            literal: { quoted($0.rawValue) })
    }
}

/// A JSON string.
package func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": result += "\\\(scalar)"
        case _ where scalar.value < 0x20:
            let digits = String(scalar.value, radix: 16)
            result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}
