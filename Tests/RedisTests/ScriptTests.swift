import Foundation
import TestSupport
import Testing

@testable import Upstream

/// The files of Lua: each is in the program, stands alone for editors, and is sound once Redis has
/// it whole.
@Suite struct ScriptTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/CScripts").standardized

    private static func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            atPath: Self.folder.appending(path: folder).path
        ).map { "\(folder)/\($0)" }
    }

    @Test func theProgramHasEachFileAndNoOther() throws {
        let list = try String(
            contentsOf: Self.folder.appending(path: "scripts.c"), encoding: .utf8)
        let listed = list.matches(of: /#embed "([^"]+)"/).map { String($0.1) }
        #expect(listed.sorted() == (try Self.names(in: "lua") + Self.names(in: "sql")).sorted())
        #expect(list.matches(of: /\{"([^"]+)"/).map { String($0.1) } == listed)
    }

    @Test func eachFileIsAScriptOrAPartOfOne() throws {
        var parts: Set<String> = []
        for script in RedisScript.allCases { parts.formUnion(ScriptFile(script.rawValue).parts) }
        #expect(Set(try Self.names(in: "lua")) == Set(parts.map { "lua/\($0).lua" }))
    }

    @Test func luacheckFindsNothing() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "gapless-scripts-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for script in RedisScript.allCases {
            try script.text.write(
                toFile: "\(folder.path)/\(script).lua", atomically: true, encoding: .utf8)
        }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/luacheck")
        // A part may define more than each script needs of it. The first line is Redis's own.
        process.arguments = [
            "--std", "lua51", "--read-globals", "redis", "KEYS", "ARGV", "--no-unused",
            "--no-redefined", "--no-max-line-length", "--no-color", folder.path,
        ]
        let pipe = Pipe()
        (process.standardOutput, process.standardError) = (pipe, pipe)
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(String(decoding: output, as: UTF8.self))")
    }
}
