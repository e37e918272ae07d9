import Foundation
import Testing

/// The pages for those who change something. Each file that they name is there, and the files that
/// a walk passes exist. A search for a word of the field finds the file that does it.
@Suite struct ReadmeTests {
    private static let pages = ["Sources/README.md", "Tests/README.md"]

    private static func text(_ path: String) -> String {
        Repository.files.first { $0.path == path }?.text ?? ""
    }

    /// What stands between backticks and is a path from the top level, in a page.
    private static func paths(in page: String) -> Set<String> {
        let tops = ["Sources/", "Tests/", "deploy/", "config/"]
        let quoted = page.split(separator: "`", omittingEmptySubsequences: false)
        return Set(
            quoted.indices.filter { $0 % 2 == 1 }.map { String(quoted[$0]) }
                .filter { path in
                    tops.contains { path.hasPrefix($0) } && !path.contains { " *…\n".contains($0) }
                })
    }

    @Test(arguments: pages) func whatAPageNamesIsThere(_ page: String) {
        let named = Self.paths(in: Self.text(page))
        #expect(named.count > 20)
        let missing = named.filter {
            !FileManager.default.fileExists(
                atPath: Repository.root.appendingPathComponent($0).path)
        }
        #expect(missing.sorted() == [])
    }

    /// Who comes by reads it to the end.
    @Test func theFirstPageIsShort() {
        let lines = Self.text("README.md").split(separator: "\n", omittingEmptySubsequences: false)
        #expect((50...120).contains(lines.count))
    }

    @Test(arguments: pages + ["README.md", "deploy/reference/clients.md"])
    func whereAPageLinksToIsThere(_ page: String) {
        let folder = Repository.root.appendingPathComponent(page).deletingLastPathComponent()
        let links = Self.text(page).matches(of: /\]\(([^)#:]+)\)/).map { String($0.output.1) }
        #expect(!links.isEmpty)
        for link in links {
            let target = folder.appendingPathComponent(link).standardized
            #expect(FileManager.default.fileExists(atPath: target.path), "\(link)")
        }
    }

    /// The words of the field, each with the file that does it.
    private static let words = [
        ("backpressure", "Sources/Engine/Delivery/Postponed.swift"),
        ("in-flight", "Sources/Engine/Delivery/Sockets.swift"),
        ("catch-up", "Sources/Engine/Sync/Sync+CatchUp.swift"),
        ("backfill", "Sources/Engine/Sync/Fetcher.swift"),
        ("replica", "Sources/Engine/Sync/Replica.swift"),
        ("fetch queue", "Sources/Engine/Sync/FetchQueue.swift"),
        ("flow control", "Sources/Engine/Delivery/Outbox.swift"),
        ("idempotency key", "Sources/Upstream/Embedded/MessageLog+Messages.swift"),
        ("tombstone", "Sources/Upstream/Embedded/MessageLog+Messages.swift"),
        ("failover", "Sources/Engine/Sync/LogIdentity.swift"),
    ]

    /// A file says in its opening comment what it does, and the page of words leads there.
    @Test(arguments: words)
    func aWordOfTheFieldLeadsToItsFile(_ word: String, _ path: String) {
        let lines = Self.text(path).split(separator: "\n", omittingEmptySubsequences: false)
        let comment = lines.drop { !$0.hasPrefix("///") }.prefix { $0.hasPrefix("///") }
        let said = comment.flatMap { $0.dropFirst(3).split(separator: " ") }
        let opening = said.joined(separator: " ").lowercased()
        #expect(opening.contains(word), "\(path)")
        let row = Self.text("Sources/README.md").split(separator: "\n").first {
            $0.hasPrefix("| ") && $0.split(separator: "|")[0].contains(word)
        }
        #expect(row?.contains("`\(path)`") == true, "\(word) in the words of Sources/README.md")
    }
}
