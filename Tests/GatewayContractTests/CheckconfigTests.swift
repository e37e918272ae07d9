import Foundation
import TestSupport
import Testing

/// What `serve` would fail at before it serves, `checkconfig` says, so that a reload is not
/// reported as done that could not be.
@Suite struct CheckconfigTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let settings: [String]
        /// What both say.
        let word: String

        init(_ name: String, _ settings: [String], _ word: String) {
            (testDescription, self.settings, self.word) = (name, settings, word)
        }
    }

    private static func tls(_ certificate: String, _ key: String) -> [String] {
        ["listen.tls.certificate=\(certificate)", "listen.tls.key=\(key)"]
    }

    static let cases: [Case] = [
        Case("another key", tls("%/a.pem", "%/b.key"), "b.key"),
        Case("no PEM", tls("%/text", "%/a.key"), "text"),
        Case("an encrypted key", tls("%/a.pem", "%/locked.key"), "locked.key"),
        Case("no certificate", tls("%/none.pem", "%/a.key"), "none.pem"),
        Case(
            "no password for Redis",
            ["upstream.kind=redis", "upstream.redis.password_file=/nowhere/password"],
            "/nowhere/password"),
        Case("no directory", ["cache.path=/nowhere/at/all.db"], "/nowhere/at/all.db"),
        Case("a directory", ["cache.path=%"], "it is a directory"),
        Case("another file", ["cache.path=%/text"], "text"),
        Case("no address", ["listen.public=192.0.2.1:0", "auth.allow_insecure=true"], "192.0.2.1"),
        Case("a name", ["listen.internal=localhost:0"], "localhost"),
    ]

    /// Certificates and keys, made by the `openssl` command.
    private static func files() throws -> [String: String] {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("gapless-check-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let script = """
            cd \(directory.path)
            for name in a b; do
                openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=$name -days 2 \
                    -out $name.pem -keyout $name.key
            done
            openssl rsa -aes256 -passout pass:secret -in a.key -out locked.key
            """
        let log = directory.appendingPathComponent("log").path
        let child = try ChildProcess("/bin/sh", ["-c", script], log: log)
        try #require(Deadline.after(.seconds(60)).poll { child.exitStatus != nil })
        var files = ["text": String(repeating: "This is no PEM and no database.\n", count: 200)]
        for name in ["a.pem", "a.key", "b.key", "locked.key"] {
            files[name] = try String(
                contentsOf: directory.appendingPathComponent(name), encoding: .utf8)
        }
        return files
    }

    private static let made = Result { try files() }

    private func run(_ command: String, _ settings: [String]) throws -> CommandRun {
        let own = ["listen.public=127.0.0.1:0", "listen.internal=127.0.0.1:0"]
        return try CommandRun(
            [command] + (own + settings).flatMap { ["--set", $0] }, files: Self.made.get())
    }

    @Test(arguments: cases)
    func whatStopsTheStartIsFoundBefore(_ wrong: Case) throws {
        for command in ["checkconfig", "serve"] {
            let run = try run(command, wrong.settings)
            #expect(run.status == 1, "\(command): \(run.output)")
            #expect(run.output.contains(wrong.word), "\(command): \(run.output)")
        }
    }

    /// What lies on the disk before the start, and what both say.
    enum Found: String, CaseIterable {
        case brokenPages = "its pages contradict each other"
        case longName = "File name too long"
        case samePort = "another port"
        case fewDescriptors = "descriptors"
        case circle = "Too many levels of symbolic links"
        case memory = "the path of a file"

        /// - Returns: the settings, and what the command is started with.
        func prepare(in folder: URL) throws -> (settings: [String: String], launcher: [String]) {
            let path = folder.appendingPathComponent("gapless.db").path
            switch self {
            case .brokenPages:
                let gateway = try GatewayProcess(
                    settings: ["upstream.kind": "embedded", "cache.path": path])
                try gateway.api().put("ops", ["participants": ["alice"]])
                #expect(try gateway.terminate() == 0)
                let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                try file.seek(toOffset: 3 * 4096)
                try file.write(contentsOf: Data(repeating: 7, count: 4 * 4096))
                try file.close()
            case .longName:
                let name = String(repeating: "x", count: 253)
                return (["cache.path": folder.appendingPathComponent(name).path], [])
            case .circle:
                for (link, target) in [("gapless.db", "other.db"), ("other.db", "gapless.db")] {
                    try FileManager.default.createSymbolicLink(
                        atPath: folder.appendingPathComponent(link).path,
                        withDestinationPath: target)
                }
            case .memory: return (["cache.path": ":memory:"], [])
            case .samePort:
                let port = try Port.free()
                return (
                    [
                        "cache.path": path, "listen.public": "127.0.0.1:\(port)",
                        "listen.internal": "0.0.0.0:\(port)",
                    ], []
                )
            case .fewDescriptors:
                return (["cache.path": path], ["/bin/sh", "-c", "ulimit -n 64; exec \"$@\"", "sh"])
            }
            return (["cache.path": path], [])
        }
    }

    private func expectRefused(
        _ settings: [String: String], _ launcher: [String], _ word: String
    ) throws {
        let own = ["listen.public": "127.0.0.1:0", "listen.internal": "127.0.0.1:0"]
        let all = own.merging(settings) { $1 }
        for command in ["checkconfig", "serve"] {
            let run = try CommandRun(
                [command] + all.flatMap { ["--set", "\($0.key)=\($0.value)"] }, launcher: launcher)
            #expect(run.status == 1, "\(command): \(run.output)")
            #expect(run.output.contains(word), "\(command): \(run.output)")
        }
    }

    @Test(arguments: Found.allCases)
    func whatIsThereAndStopsTheStartIsFoundBefore(_ found: Found) throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("gapless-found-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (settings, launcher) = try found.prepare(in: folder)
        try expectRefused(settings, launcher, found.rawValue)
    }

    /// The same warnings, word for word.
    @Test func whatServeWarnsOfIsSaidBefore() throws {
        let gateway = try GatewayProcess(
            settings: ["upstream.kind": "embedded", "limits.connections": "1000000"])
        let word = "limits.connections is above what the descriptors are enough for"
        #expect(gateway.log.contains(word))
        let run = try run("checkconfig", ["limits.connections=1000000", "cache.path=%/w.db"])
        #expect(run.status == 0 && run.output.contains("warning: \(word)"), "\(run.output)")
    }

    @Test func aFullDiskIsFoundBefore() throws {
        let disk = try SmallDisk(kilobytes: 64)
        try expectRefused(
            ["cache.path": disk.directory + "/gapless.db"], disk.launcher, "full")
    }

    /// A database that is there, and nothing of ours in it; one that is away stops no start.
    @Test func aMissingSchemaIsFoundBefore() throws {
        let kind = ["upstream.kind": "postgres", "cache.path": "%/gapless.db"]
        try expectRefused(
            try kind.merging(["upstream.postgres.url": PostgresProcess.shared().url()]) { $1 }, [],
            "there is no schema gapless")
        let run = try run(
            "checkconfig",
            ["upstream.kind=postgres", "upstream.postgres.url=postgres://u@127.0.0.1:1/d"])
        #expect(run.status == 0, "\(run.output)")
    }

    @Test func whatIsRightIsSaidToBe() throws {
        let run = try run("checkconfig", Self.tls("%/a.pem", "%/a.key"))
        #expect(run.status == 0, "\(run.output)")
    }

    @Test func aPortThatIsTakenIsAFaultUnlessTheGatewayItselfHasIt() throws {
        let gateway = try GatewayProcess(settings: ["upstream.kind": "embedded"])
        let ports = [
            "listen.public=127.0.0.1:\(gateway.port)",
            "listen.internal=127.0.0.1:\(gateway.internalPort)",
        ]
        let other = try run("checkconfig", ports)
        #expect(other.status == 1 && other.output.contains("Address already in use"))
        let path = try #require(gateway.settings["cache.path"])
        let own = try run("checkconfig", ports + ["cache.path=\(path)"])
        #expect(own.status == 0, "\(own.output)")
    }
}
