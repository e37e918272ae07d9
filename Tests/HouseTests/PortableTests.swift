import Foundation
import Testing

/// The client can be built for Apple's platforms, as far as that can be seen from here, where no
/// compiler for them is: what its products are made of there, and every file that names a system.
@Suite struct PortableTests {
    /// The files of the client that import something of one platform, and what.
    private static let named: [String: Set<String>] = [
        "Sources/ClientSystem/ClientSystem.swift": ["Darwin", "Glibc", "Musl"],
        "Sources/GaplessClient/DefaultTransport.swift": ["LoopTransport", "URLSessionTransport"],
        "Sources/GaplessFoundation/GaplessFoundation.swift": ["Foundation"],
        "Sources/SQLite/Connection+Copy.swift": ["CSQLite", "SQLite3"],
        "Sources/SQLite/Connection+Locks.swift": ["CSQLite"],
        "Sources/SQLite/Connection.swift": ["CSQLite", "SQLite3"],
        "Sources/SQLite/SQLiteLibrary.swift": ["CSQLite"],
        "Sources/SQLite/Statement.swift": ["CSQLite", "SQLite3"],
        "Sources/URLSessionTransport/URLSessionTransport.swift": [
            "Foundation", "FoundationNetworking",
        ],
    ]
    /// What every platform has, beside the client's own targets.
    private static let everywhere: Set<String> = ["Dispatch", "Observation", "Synchronization"]
    /// What only systems from 26 on have.
    private static let newer = #"\bInlineArray\b|\bUTF8Span\b|\butf8Span\b|\butf8\.span\b"#

    private enum Platform: String { case linux, apple }

    /// What a target brings along on a platform.
    private func closure(of target: String, on platform: Platform) -> Set<String> {
        let manifest = Repository.files.first { $0.path == "Package.swift" }?.text ?? ""
        var declared: [String: [String]] = [:]
        for call in manifest.components(separatedBy: "core(").dropFirst() {
            let text = call.prefix { $0 != ")" }
            guard let name = quoted(text).first else { continue }
            var found: [String] = []
            for other in [Platform.linux, .apple] {
                let part = text.components(separatedBy: "\(other.rawValue): [").dropFirst().first
                let names = quoted(part?.prefix { $0 != "]" } ?? "")
                if other == platform { found += names }
            }
            let common = text.components(separatedBy: "linux:")[0]
                .components(separatedBy: "apple:")[0]
            declared[name] = found + quoted(common[...]).dropFirst()
        }
        var (reached, open) = (Set<String>(), [target])
        while let next = open.popLast() {
            if reached.insert(next).inserted { open += declared[next] ?? [] }
        }
        return reached
    }

    /// What the products for apps bring along there.
    private var portableTargets: Set<String> {
        closure(of: "GaplessTesting", on: .apple)
            .union(closure(of: "GaplessFoundation", on: .apple))
    }

    private func quoted(_ text: Substring) -> [String] {
        let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
        return parts.indices.filter { $0 % 2 == 1 }.map { String(parts[$0]) }
    }

    private func files(of targets: Set<String>) -> [Repository.File] {
        Repository.sources.filter {
            $0.path.hasSuffix(".swift") && $0.target.map(targets.contains) == true
        }
    }

    @Test func theClientIsMadeOfThis() {
        let common: Set<String> = [
            "GaplessClient", "ClientSystem", "ClientCore", "SQLite", "Wire", "Chat", "JSON",
        ]
        #expect(
            closure(of: "GaplessClient", on: .linux)
                == common.union(["LoopTransport", "SocketLoop", "CSQLite", "CWebSockets"]))
        #expect(
            closure(of: "GaplessClient", on: .apple) == common.union(["URLSessionTransport"]))
        #expect(
            portableTargets
                == common.union(["URLSessionTransport", "GaplessTesting", "GaplessFoundation"]))
    }

    @Test func noOtherFileNamesASystem() {
        let targets = portableTargets
        let portable = targets.subtracting(["URLSessionTransport"]).union(Self.everywhere)
        var found: [String: Set<String>] = [:]
        for file in files(of: targets) {
            let imports = Set(ImportRules.imports(file.code).map(\.module))
            let bound = imports.subtracting(
                file.target == "URLSessionTransport" ? portable.union(targets) : portable)
            if !bound.isEmpty { found[file.path] = bound }
        }
        #expect(found == Self.named)
    }

    /// What is not on every platform stands behind a condition.
    @Test func whatIsOfOnePlatformHasACondition() {
        for (path, modules) in Self.named {
            guard let file = Repository.sources.first(where: { $0.path == path }) else {
                Issue.record("\(path) is not there")
                continue
            }
            for (line, module) in ImportRules.imports(file.code)
            where modules.contains(module) && module != "Foundation" {
                let above = file.code.lines.prefix(line)
                let depth = above.reduce(0) { depth, line in
                    let word = line.drop { $0 == " " }
                    return depth + (word.hasPrefix("#if") ? 1 : word.hasPrefix("#endif") ? -1 : 0)
                }
                #expect(depth > 0, "\(path):\(line): \(module)")
            }
        }
    }

    @Test func nothingAsksForANewerSystem() throws {
        let newer = try Regex(Self.newer)
        for file in files(of: portableTargets) {
            for (index, line) in file.code.lines.enumerated() {
                #expect(line.firstMatch(of: newer) == nil, "\(file.path):\(index + 1)")
            }
        }
    }
}
