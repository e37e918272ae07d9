import Foundation
import GaplessClient
import Testing

/// The pages for app developers: what they show is what is compiled here, and works.
@Suite struct SnippetTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let pages = ["GaplessClient", "FirstApp", "TestingYourApp"]

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
    }

    /// Without what stands before and behind each line, and without empty ones.
    private func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
    }

    private func blocks(_ page: String) throws -> [[String]] {
        let text = try text("Sources/GaplessClient/GaplessClient.docc/\(page).md")
        return text.components(separatedBy: "```swift\n").dropFirst().map {
            lines($0.components(separatedBy: "```")[0])
        }
    }

    @Test func whatIsShownIsCompiled() throws {
        let compiled = lines(try text("Tests/GaplessClientTests/Snippets.swift"))
        var count = 0
        for page in Self.pages {
            for block in try blocks(page) {
                let isThere = compiled.indices.contains {
                    compiled[$0...].starts(with: block)
                }
                #expect(isThere, "\(page): \(block.first ?? "")")
                count += 1
            }
        }
        #expect(count == 5)
    }

    /// Each symbol that a page links to is a public one.
    @Test func whatIsLinkedIsThere() throws {
        let folders = ["GaplessClient", "ClientCore", "Chat"]
        var sources = ""
        for folder in folders {
            let url = Self.root.appendingPathComponent("Sources/\(folder)")
            for file in try FileManager.default.contentsOfDirectory(atPath: url.path)
            where file.hasSuffix(".swift") { sources += try text("Sources/\(folder)/\(file)") }
        }
        var count = 0
        for page in Self.pages {
            let text = try text("Sources/GaplessClient/GaplessClient.docc/\(page).md")
            for link in text.matches(of: /``(\w+)(?:\/(\w+)\([^`]*)?``/) {
                let name = String(link.output.1)
                if name == "GaplessClient" { continue }
                let kinds = ["final class", "class", "struct", "enum", "protocol"]
                let words = kinds.map { "public \($0) \(name)" }
                #expect(words.contains { sources.contains($0) }, "\(page): \(name)")
                if let member = link.output.2 {
                    #expect(sources.contains("func \(member)("), "\(page): \(member)")
                }
                count += 1
            }
        }
        #expect(count > 10)
    }

    @Test func anOutageOfAnHourIsShown() async throws {
        #expect(try await anOutageOfAnHour() == ["bob: disk is full"])
    }

    /// A client of the pages, offline: what is written waits.
    @Test @MainActor func aClientShowsWhatItCouldNotSend() async throws {
        let client = try makeClient(store: nil)
        client.send("hello", to: "ops")
        let model = ConversationModel(client, conversation: "ops", reader: "alice")
        model.online()
        while model.rows.isEmpty { await Task.yield() }
        #expect(describe(model) == ["alice: hello …"])
    }
}
