import Chat
import Engine
import JSON
import Wire

/// The decoded params of a query. The last of several with one name counts, but where all are
/// asked for; unknown ones are ignored.
package struct QueryString {
    /// The largest integer of the protocol: below 2^53.
    static let largest = 9_007_199_254_740_991

    private var values: [String: String] = [:]
    private var all: [(name: String, value: String)] = []

    package init(_ query: String) throws(ServerAPI.Failure) {
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(Array(parts[0]), plusIsSpace: true),
                let value = PercentEncoding.decode(
                    parts.count > 1 ? Array(parts[1]) : [], plusIsSpace: true)
            else { throw .error(RequestError(.malformed, "query: is not percent-encoded UTF-8")) }
            values[name] = value
            all.append((name, value))
        }
    }

    package subscript(name: String) -> String? { values[name] }

    /// Users: those of a list with commas, and those that are named alone; each once, in order.
    func users(atMost limit: Int) throws(RequestError) -> [String] {
        var users: [String] = []
        var seen: Set<ID> = []
        for (name, value) in all where name == "users" || name == "user" {
            let ids = name == "user" ? [value] : value.split(separator: ",").map(String.init)
            for id in ids {
                guard Identifier.isValid(id) else {
                    throw .invalid("\(name): no id (accepted: \(Identifier.accepted))")
                }
                if seen.insert(id.id).inserted { users.append(id) }
            }
        }
        guard !users.isEmpty else {
            throw RequestError(
                .fieldMissing, "users: missing, ids of users with commas between them are needed")
        }
        guard users.count <= limit else {
            throw RequestError(
                .limitPresence,
                "users: \(users.count) of them (accepted: at most \(limit), limits.presence)")
        }
        return users
    }

    /// A text that is not accepted, as an error names it: a number as it was given, and nothing
    /// else, because that may be what a user typed.
    static func shown(_ text: String) -> String {
        (try? RawJSON(Array(text.utf8)))?.numberShown
            ?? (text.isEmpty ? "an empty text" : "another text")
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(RequestError) -> Int? {
        guard let text = values[name] else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw .invalid(
                "\(name): \(Self.shown(text)) (accepted: an integer, \(range.phrase))")
        }
        return value
    }

    func limit() throws(RequestError) -> Int { try integer("limit", in: 1...1000) ?? 100 }

    private func order() throws(RequestError) -> PageRequest.Order {
        guard let text = values["order"] else { return .desc }
        guard let order = PageRequest.Order(rawValue: text) else {
            throw .invalid("order: \(Self.shown(text)) (accepted: desc, asc)")
        }
        return order
    }

    package func page() throws(RequestError) -> PageRequest {
        let page = PageRequest(
            before: try anchor("before"), after: try anchor("after"), around: try anchor("around"),
            limit: try limit(), order: try order())
        guard page.around == nil || (page.before == nil && page.after == nil) else {
            throw RequestError(.fieldsExclusive, "around: goes without before and after")
        }
        return page
    }

    /// The head of an earlier answer, as JSON.
    func atLeast() throws(RequestError) -> Head? {
        guard let text = values["atLeast"] else { return nil }
        guard let head = try? RawJSON(Array(text.utf8)), let object = head.object else {
            throw .invalid(
                "atLeast: \(Self.shown(text)) (accepted: the head of an answer, as JSON)")
        }
        return try Fields(object, prefix: "atLeast.").change()
    }

    private func anchor(_ name: String) throws(RequestError) -> Anchor? {
        guard let text = values[name] else { return nil }
        return try Anchor.decode(query: text, field: name)
    }

    package func participants() throws(RequestError) -> ParticipantsRequest {
        if let by = values["order_by"], by != "created_at" {
            throw .invalid("order_by: \(Self.shown(by)) (accepted: created_at)")
        }
        return ParticipantsRequest(
            limit: try integer("limit", in: -Self.largest...Self.largest) ?? 0,
            offset: try integer("offset", in: 0...Self.largest) ?? 0, order: try order())
    }
}
