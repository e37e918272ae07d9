import Foundation
import Rules
import Testing
import Wire

@testable import Gateway

/// The contract's files for readers and for machines have what the program has, and nothing else:
/// each method, event, code and call of the server API.
@Suite struct ContractFileTests {
    private static func file(_ name: String) throws -> String {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return try String(
            contentsOfFile: "/\(root)/deploy/reference/\(name)", encoding: .utf8)
    }

    private static let events = EventName.allCases.map(\.rawValue)
    private static let methods = Method.allCases.map(\.rawValue)

    @Test func theSocketHasEachMethodAndEvent() throws {
        let page = try Outline(Self.file("asyncapi.yaml"))
        let operations = Self.methods + Self.events.map { "event-\($0)" }
        #expect(Set(page.children(of: ["operations"])) == Set(operations))
        let messages =
            ["error"] + Self.methods.flatMap { ["request-\($0)", "result-\($0)"] }
            + Self.events.map { "event-\($0)" }
        #expect(Set(page.children(of: ["channels", "socket", "messages"])) == Set(messages))
    }

    @Test(arguments: ["asyncapi.yaml", "openapi.yaml"])
    func bothHaveEachErrorCode(_ name: String) throws {
        let page = try Outline(Self.file(name))
        let codes = page.elements(of: ["components", "schemas", "ErrorCode", "enum"])
        #expect(Set(codes) == Set(ErrorCode.allCases.map(\.rawValue)))
    }

    @Test(arguments: ["asyncapi.yaml", "openapi.yaml"])
    func bothHaveEachReason(_ name: String) throws {
        let page = try Outline(Self.file(name))
        let reasons = page.elements(of: ["components", "schemas", "Reason", "examples"])
        #expect(reasons == RequestError.Reason.allCases.map(\.rawValue))
    }

    @Test func thePageHasEachReasonWithItsCodeAndRetry() throws {
        let page = try Self.file("protocol.md").split(separator: "\n").map(String.init)
        let start = try #require(page.firstIndex(of: "| reason | code | retry | when |"))
        let rows = page[(start + 2)...].prefix { $0.hasPrefix("| ") }
        let heads = RequestError.Reason.allCases.map {
            "| `\($0.rawValue)` | `\($0.code.rawValue)` | \($0.retry.rawValue) | "
        }
        #expect(rows.count == heads.count)
        for (row, head) in zip(rows, heads) {
            #expect(row.hasPrefix(head) && row.count > head.count + 2, "\(row)")
        }
    }

    @Test func theSocketHasEachCloseCode() throws {
        let page = try Outline(Self.file("asyncapi.yaml"))
        let codes = page.elements(of: ["components", "schemas", "CloseCode", "enum"])
        #expect(codes.compactMap { UInt16($0) } == CloseCode.allCases.map(\.rawValue).sorted())
    }

    @Test func theServerAPIHasEachCall() throws {
        let page = try Outline(Self.file("openapi.yaml"))
        #expect(Set(page.children(of: ["paths"])) == Set(APIRoute.allCases.map(\.rawValue)))
        for route in APIRoute.allCases {
            let described = page.children(of: ["paths", route.rawValue])
                .filter { $0 != "parameters" }
            #expect(
                Set(described) == Set(Self.allowed(route)), "\(route.rawValue): \(described)")
        }
    }

    /// The methods that a route accepts, in lower case. HEAD is said once, for each GET.
    private static func allowed(_ route: APIRoute) -> [String] {
        let path =
            "/"
            + route.rawValue.dropFirst().split(separator: "/")
            .map { $0.hasPrefix("{") ? "a" : $0 }.joined(separator: "/")
        do throws(ServerAPI.Failure) {
            _ = try ServerAPI(limits: LogLimits())
                .call(method: "NONE", path: path, query: "user=a", body: [])
            return []
        } catch {
            guard case .method(let allowed) = error else { return [] }
            return allowed.filter { $0 != "HEAD" }.map { $0.lowercased() }
        }
    }

    @Test func thePageHasASectionForEachMethodAndEvent() throws {
        let page = try Self.file("protocol.md").split(separator: "\n").map(String.init)
        let sections = page.filter { $0.hasPrefix("### ") }.map { $0.dropFirst(4) }
        for method in Self.methods {
            #expect(sections.filter { $0 == method }.count == 1, "\(method)")
        }
        for event in Self.events {
            let name = Self.methods.contains(event) ? "\(event) (event)" : event
            #expect(sections.contains { $0 == name }, "\(event)")
        }
        for code in ErrorCode.allCases {
            #expect(page.contains { $0.hasPrefix("| `\(code.rawValue)` | \(code.status) | ") })
        }
        let closings = page.filter { $0.prefix(3).allSatisfy { "| 0123456789".contains($0) } }
        for code in CloseCode.allCases {
            #expect(closings.contains { $0.contains("\(code.rawValue)") }, "\(code)")
        }
        let calls = page.filter { $0.hasPrefix("#### `") }
        for route in APIRoute.allCases {
            for method in Self.allowed(route) {
                #expect(
                    calls.contains {
                        $0.contains(method.uppercased())
                            && $0.split(whereSeparator: { "` ,?".contains($0) })
                                .contains { $0 == route.rawValue }
                    }, "\(method) \(route.rawValue)")
            }
        }
    }
}

/// The keys and elements of a YAML file of ours by their places: one a line, two spaces a level.
/// No reader of all of YAML: it sees what these files are written with.
private struct Outline {
    private var keys: [[String]] = []
    private var values: [(place: [String], text: String)] = []

    init(_ text: String) {
        var open: [(depth: Int, key: String)] = []
        for line in text.split(separator: "\n") {
            let depth = line.prefix { $0 == " " }.count
            let rest = line.dropFirst(depth)
            guard !rest.hasPrefix("#") else { continue }
            open.removeAll { $0.depth >= depth }
            if rest.hasPrefix("- ") {
                values.append((open.map(\.key), String(rest.dropFirst(2))))
            } else if let colon = rest.firstIndex(of: ":") {
                open.append((depth, String(rest[..<colon])))
                keys.append(open.map(\.key))
            }
        }
    }

    func children(of place: [String]) -> [String] {
        keys.filter { $0.count == place.count + 1 && $0.starts(with: place) }.map {
            $0[place.count]
        }
    }

    func elements(of place: [String]) -> [String] {
        values.filter { $0.place == place }.map(\.text)
    }
}
