import GaplessClient
import Testing
import TestSupport

/// A gateway with the conversation "ops" of alice and bob, and alice's client, which connects and
/// follows it. What most tests of a live client begin with.
final class OpsRoom {
    let gateway: GatewayProcess
    private(set) var api: ServerAPI
    let client: ChatClient
    let follower = Follower("ops", reader: "alice")
    private let network: TCPProxy?

    /// - Parameters:
    ///   - settings: Of the gateway.
    ///   - messages: How many are there before the client comes.
    ///   - isCuttable: There is a network in between that a test can break, by `set`.
    init(
        settings: [String: String] = [:], messages: Int = 0, isCuttable: Bool = false,
        isolation: isolated (any Actor)? = #isolation
    ) async throws {
        gateway = try GatewayProcess(settings: settings)
        api = gateway.api()
        try api.put("ops", ["participants": ["alice", "bob"]])
        network = isCuttable ? try TCPProxy(to: gateway.port) : nil
        client = try LiveClient.client(gateway, "alice", port: network?.port)
        try write(messages)
        await follower.follow(client.subscribeMessages(conversation: "ops"))
        client.connect()
    }

    deinit { network?.close() }

    /// Lets bob write.
    func write(_ count: Int) throws {
        guard count > 0 else { return }
        let texts = (0..<count).map { place -> JSONValue in
            ["author": "bob", "body": .string("text \(place)")]
        }
        try api.post(texts, to: "ops")
    }

    /// A gateway that was started again, or a log that began again, has another truth.
    func learnAnew() { api = gateway.api() }

    /// Breaks the network, or mends it.
    func set(_ mode: TCPProxy.Mode) throws {
        try #require(network).set(mode)
        if mode == .open { client.wake() }
    }

    /// Breaks the network and waits until the client has noticed.
    func cut(
        _ mode: TCPProxy.Mode = .refusing, isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let before = await follower.interrupted
        try set(mode)
        #expect(try await LiveClient.eventually { await follower.interrupted == before + 1 })
    }

    /// The same for a list, where nobody else listens.
    @MainActor func cut(of list: ManagedMessageList) async throws {
        try set(.refusing)
        #expect(try await LiveClient.eventually { !list.isLive })
    }

    /// The client follows the conversation.
    func expectLive(isolation: isolated (any Actor)? = #isolation) async throws {
        #expect(try await LiveClient.eventually { await follower.isLive })
    }

    /// The client holds the same, message for message, as the log has it.
    func expectWhole(
        at location: SourceLocation = #_sourceLocation,
        isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let truth = try #require(try api.learnChanges(of: "ops").log)
        let isWhole = try await LiveClient.eventually {
            let (isLive, revs) = (await follower.isLive, await follower.revs)
            return isLive && revs == truth.newest
        }
        let coverage = await follower.coverage
        #expect(isWhole, "held \(coverage) of \(truth.headSeq)", sourceLocation: location)
        #expect(await follower.gaps.isEmpty, sourceLocation: location)
    }
}
