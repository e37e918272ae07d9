@testable import Configuration
import Engine
import Ports
import Testing

/// What is derived from the declarations of the keys: texts, and the rules of a reload.
@Suite struct ConfigurationTextTests {
    private let directory = Result { try TemporaryDirectory() }

    @Test func theGeneratedFileSaysTheDefaults() throws {
        let file = try directory.get().file("c.json5", ConfigurationText.file())
        #expect(try Configuration.load(file: file, overrides: .init()) == Configuration())
    }

    @Test func theGeneratedFileHasEachKeyOnceInItsOrder() throws {
        let settings = try JSON5Reader.settings(
            of: Array(ConfigurationText.file().utf8), path: "f")
        #expect(Set(settings.map(\.key)) == Set(ConfigurationKey.all.map(\.name)))
        #expect(settings.count == ConfigurationKey.all.count)
        #expect(ConfigurationText.file().split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test func theExampleInTheRepositoryIsTheGeneratedFile() throws {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let example = try Files.read("/\(root)/config/gapless.example.json5", limit: 1 << 20)
        #expect(
            String(decoding: example, as: UTF8.self) == ConfigurationText.file(),
            "renew it: gapless genconfig > config/gapless.example.json5")
    }

    @Test func theReferenceHasEachKey() {
        let reference = ConfigurationText.reference()
        for key in ConfigurationKey.all {
            #expect(reference.contains("| `\(key.name)` | "))
        }
        for section in ConfigurationSection.all {
            #expect(reference.contains("\n## \(section.name)\n"))
        }
    }

    @Test func aReloadTellsWhatChangedAndWhatItTakes() {
        var next = Configuration()
        next.log.level = .debug
        next.limits.connections = 5
        next.limits.inboundFrame = 40 << 10
        next.auth.jwt.issuer = "here"
        #expect(
            Configuration().changes(to: next).map(\.description) == [
                "auth.jwt.issuer: null -> \"here\"",
                "limits.connections: 20000 -> 5",
                "limits.inbound_frame: \"64KiB\" -> \"40KiB\" (needs a restart)",
                "log.level: \"info\" -> \"debug\"",
            ])
        #expect(next.changes(to: next).isEmpty)
    }

    @Test func aReloadAppliesOnlyWhatItMay() throws {
        var next = Configuration()
        next.log.level = .debug
        next.limits.connections = 5
        next.limits.reply = 5 << 10
        next.auth.mode = .jwt
        next.auth.jwt.secretFile = "secret"
        let reloaded = try Configuration().reloaded(with: next)
        #expect(reloaded.log.level == .debug)
        #expect(reloaded.auth.jwt.secretFile == "secret")
        #expect(reloaded.auth.mode == .open)
        #expect(reloaded.limits.connections == 5 && reloaded.limits.reply == 1 << 20)
        #expect(reloaded.changes(to: next).allSatisfy { $0.needsRestart })
        #expect(Configuration().changes(to: reloaded).allSatisfy { !$0.needsRestart })
    }

    @Test func aReloadCantOpenAGatewayThatTakesTokens() throws {
        var present = Configuration()
        present.auth.mode = .jwt
        present.auth.jwt.secretFile = "secret"
        let running = present
        let error = #expect(throws: ConfigurationError.self) {
            try running.reloaded(with: Configuration())
        }
        #expect(error?.problems.map(\.key) == ["auth.mode"])
    }
}
