import GaplessClient
import Testing
import URLSessionTransport

/// What can't work says so, and says what to do.
@Suite struct RefusalTests {
    @Test(.enabled(if: !isApple)) func urlSessionIsForApplesPlatforms() {
        let error = #expect(throws: ChatClient.SetupError.self) {
            try ChatClient(url: "ws://127.0.0.1:1/v1/ws", transport: URLSessionTransport()) { _ in
                nil
            }
        }
        #expect("\(error, default: "")".contains("leave `transport` out"))
    }

    @Test func rootsThatCantBeReadAreNamed() {
        var options = ChatClient.Options()
        options.trustedRoots = "/none/such.pem"
        let error = #expect(throws: ChatClient.SetupError.self) {
            try ChatClient(url: "wss://127.0.0.1:1/v1/ws", options: options) { _ in nil }
        }
        #expect("\(error, default: "")".contains("/none/such.pem"))
    }

    @Test(arguments: ["http://a/v1/ws", "ws://", "ws://a:0/v1/ws", "ws://user@a/v1/ws"])
    func whatIsNoURLIsRefused(_ url: String) {
        #expect(throws: ChatClient.SetupError.badURL) { try ChatClient(url: url) { _ in nil } }
    }

    private static var isApple: Bool {
        #if canImport(Darwin)
        true
        #else
        false
        #endif
    }
}
