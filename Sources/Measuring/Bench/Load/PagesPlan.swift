/// The parameters of both halves of `pages`: through a gateway, and with the cache alone.
package struct PagesPlan: Sendable {
    package let messages: Int
    package let limit: Int
    package let stretch: Int
    package let rounds: Int
    /// The text of each message.
    package let body: String

    package static let options: [Options.Option] = [
        .init(name: "messages", value: "N", help: "in the conversation (100000)"),
        .init(name: "limit", value: "N", help: "messages of a page (100)"),
        .init(name: "stretch", value: "PAGES", help: "pages of a place (50)"),
        .init(name: "rounds", value: "N", help: "how often each is read (20)"),
        .init(name: "body", value: "BYTES", help: "length of a message's text (40)"),
    ]

    /// - Throws: `BenchError.usage`
    package init(_ options: Options) throws(BenchError) {
        messages = try options.int("messages", default: 100_000, in: 10...10_000_000)
        limit = try options.int("limit", default: 100, in: 1...1000)
        stretch = try options.int("stretch", default: 50, in: 1...100_000)
        rounds = try options.int("rounds", default: 20, in: 1...100_000)
        let length = try options.int("body", default: 40, in: 1...16_384)
        body = String(repeating: "x", count: length)
        guard stretch * limit <= messages else {
            throw .usage("--stretch: \(stretch) pages of \(limit) are more than the conversation")
        }
    }

    /// The name of the case.
    package var name: String { "M=\(messages) limit \(limit)" }

    package var parameters: [(name: String, value: Int)] {
        [
            ("messages", messages), ("limit", limit), ("stretch", stretch), ("rounds", rounds),
            ("bodyBytes", body.utf8.count),
        ]
    }
}
