import Foundation
import TestSupport
import Testing

/// `gapless init` makes what a first gateway needs, and `gapless live` says whether it lives.
@Suite struct InitTests {
    /// Runs a command of the program to its end.
    private func run(_ arguments: [String]) throws -> (status: Int32?, output: String) {
        let log = FileManager.default.temporaryDirectory
            .appendingPathComponent("gapless-init-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: log) }
        let child = try ChildProcess(GatewayProcess.binary(), arguments, log: log.path)
        _ = Deadline.standard.poll { child.exitStatus != nil }
        return (child.exitStatus, try String(contentsOf: log, encoding: .utf8))
    }

    @Test func aFolderHasAllThatAFirstGatewayNeeds() throws {
        let gateway = try GatewayProcess(settings: ["upstream.kind": "embedded"], starts: false)
        let folder = gateway.directory.appendingPathComponent("new")
        let file = folder.appendingPathComponent("gapless.json5")
        let made = try run([
            "init", folder.path, "--public", "127.0.0.1:\(gateway.port)", "--internal",
            "127.0.0.1:\(gateway.internalPort)",
        ])
        #expect(made.status == 0, "\(made.output)")
        for name in ["gapless.json5", "token.secret", "api.key", "gapless.db"] {
            let path = folder.appendingPathComponent(name).path
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
            #expect(mode as? Int == 0o600, "\(name)")
        }
        // The file alone, as a person starts it.
        gateway.settings = [:]
        gateway.file = file
        #expect(try run(["live", "--config", file.path]).status == 1)
        try gateway.start()
        #expect(try run(["live", "--config", file.path]).status == 0)

        let address = "http://127.0.0.1:\(gateway.port)/?token="
        let tokens = made.output.split(whereSeparator: \.isWhitespace)
            .filter { $0.hasPrefix(address) }.map { String($0.dropFirst(address.count)) }
        try #require(tokens.count == 2)
        let key = try String(
            contentsOf: folder.appendingPathComponent("api.key"), encoding: .utf8)
        let api = ServerAPI(
            port: gateway.port, apiKey: key.trimmingCharacters(in: .whitespacesAndNewlines))
        try api.post(["author": "bob", "body": "Hello"], to: "welcome")
        let client = try ChatTestClient(port: gateway.port)
        try client.connect(user: "alice", token: tokens[0])
        try client.subscribe("welcome")
        #expect(client.holder("welcome").messages.last?["body"].string == "Hello")
        #expect(client.holder("welcome").messages.count == 2)
    }

    @Test func whatIsThereIsNotTouched() throws {
        let gateway = try GatewayProcess(starts: false)
        let made = try run(["init", gateway.directory.path])
        #expect(made.status == 1 && made.output.contains("it is there already"))
    }

    @Test func anAddressThatIsNoneLeavesNoFolder() throws {
        let gateway = try GatewayProcess(starts: false)
        let folder = gateway.directory.appendingPathComponent("new").path
        let made = try run(["init", folder, "--public", "nowhere"])
        #expect(made.status == 2 && made.output.contains("listen.public: \"nowhere\""))
        #expect(!FileManager.default.fileExists(atPath: folder))
    }
}
