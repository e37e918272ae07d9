import Testing

@testable import Bench

/// What may stand behind `--url`.
@Suite struct EndpointTests {
    @Test(arguments: [
        ("http://127.0.0.1:8000", "127.0.0.1:8000"), ("ws://localhost:9/v1/ws", "127.0.0.1:9"),
        ("10.1.2.3", "10.1.2.3:80"), ("http://255.0.0.1:65535/", "255.0.0.1:65535"),
    ])
    func anAddressAndAPortAreRead(_ url: String, _ authority: String) throws {
        #expect(try #require(Endpoint(url: url)).authority == authority)
    }

    @Test(arguments: [
        "", "https://127.0.0.1:1", "http://example.org:80", "http://127.0.0.1:0",
        "http://127.0.0.1:65536", "http://127.0.0:1", "http://[::1]:80", "http://127.0.0.1:",
    ])
    func whatIsNeitherIsRefused(_ url: String) { #expect(Endpoint(url: url) == nil) }
}
