import Ports
import TestSupport
import Testing
import Wire

@testable import Upstream

/// A page with messages on both sides of another one takes no more than a page may.
@Suite struct PageBytesTests {
    private static let bytes = 20_000

    private func check(_ subject: Subject) throws {
        try subject.waitUntilOnline()
        try subject.conversation("c", of: ["alice"])
        let text = String(repeating: "x", count: 1000)
        for number in 1...60 { try subject.send("\(number) \(text)", to: "c", by: "alice") }
        for anchor in [30, 1, 59] {
            var request = PageRequest(limit: 1000)
            request.around = .seq(anchor)
            guard case .page(let page) = try subject.ask(.page(conversation: "c", request)) else {
                throw TestFailure("no page around \(anchor)")
            }
            let sizes = page.messages.map(\.json.count)
            // What is stored is counted, and the message that passes the bound is in it.
            #expect(sizes.reduce(0, +) <= Self.bytes * 5 / 4, "around \(anchor)")
            #expect(page.messages.contains { $0.seq == anchor })
            #expect(page.messages.count > 8 && (page.hasMoreAfter || page.hasMoreBefore))
        }
    }

    @Test func ofRedis() throws {
        let server = try RedisProcess(keeping: .nothing)
        try check(Subject(Redis(try server.options { $0.bytes = Self.bytes })))
    }

    @Test func ofPostgres() throws {
        var options = PostgresOptions(url: try PostgresProcess.sharedDatabase())
        options.bytes = Self.bytes
        try check(Subject(PostgresUpstream(options)))
    }
}
