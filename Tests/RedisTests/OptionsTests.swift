import Testing
import Wire

@testable import Upstream

/// The URL of `upstream.redis.url`, and the names of keys.
@Suite struct OptionsTests {
    @Test func theUrlIsReadWithAllItsParts() throws {
        let whole = try RedisOptions(url: "redis://me:p%40ss%3A@example.org:7000/3")
        #expect(whole.address == .init(host: "example.org", port: 7000))
        #expect(whole.login.user == "me" && whole.login.password == "p@ss:" && whole.database == 3)
        let short = try RedisOptions(url: "redis://localhost")
        #expect(short.address == .init(host: "localhost", port: 6379))
        #expect(short.login.user == nil && short.login.password == nil && short.database == 0)
        let six = try RedisOptions(url: "redis://:secret@[::1]:6380/")
        #expect(six.address == .init(host: "::1", port: 6380) && six.login.password == "secret")
    }

    @Test func withTLSTheSchemeSaysSo() throws {
        #expect(try RedisOptions(url: "redis://localhost").tls == nil)
        let tls = try RedisOptions(url: "rediss://me@localhost:7000")
        #expect(tls.tls != nil && tls.login.user == "me" && tls.login.password == nil)
    }

    @Test(arguments: [
        "http://secret", "localhost:6379", "redis://",
        "redis://:secret@/1", "redis://localhost:0",
        "redis://localhost:secret", "redis://localhost/secret",
    ])
    func anotherUrlIsRefusedWithoutBeingShown(_ url: String) {
        let error = #expect(throws: RedisError.self) { try RedisOptions(url: url) }
        #expect(error?.code == .url)
        #expect(error?.description.contains("secret") == false)
    }

    @Test(arguments: ["c1", "a}b", "}", "{", "%", "%7D", "100%25}", "é"])
    func aChannelNamesItsConversationOrList(_ id: String) throws {
        let keys = RedisKeys(try RedisOptions(url: "redis://localhost/5"))
        #expect(keys.topic(ofChannel: keys.channel(of: id)) == .conversation(id.id))
        let list = RedisTopic.list(id.id)
        #expect(keys.topic(ofChannel: keys.channel(of: list)) == list)
        let tag = keys.keys(of: id)[0].split(separator: UInt8(ascii: "}"))
        #expect(tag.count == 2, "one brace closes, and it parts the id from the rest")
    }
}
