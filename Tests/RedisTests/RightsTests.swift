import Foundation
import Testing

@testable import Upstream

/// The rights that the reference gives a gateway in Redis are those that its scripts need: Redis
/// checks them inside of scripts too.
@Suite struct RightsTests {
    @Test func theReferenceGrantsWhatTheScriptsCall() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../deploy/reference/security.md").standardized
        let page = try String(contentsOf: file, encoding: .utf8)
        let rule = try #require(page.split(separator: "\n").first { $0.hasPrefix("ACL SETUSER") })
        let words = rule.split(separator: " ")
        let granted = Set(words.filter { $0.first == "+" }.map { $0.dropFirst() })
        for script in RedisScript.allCases {
            for call in script.text.matches(of: /redis\.call\(\s*'([A-Z]+)'/) {
                #expect(granted.contains(Substring(call.1.lowercased())), "\(script): \(call.1)")
            }
        }
    }
}
