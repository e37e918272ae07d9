import Synchronization
import TestSupport
import Testing

/// The gateway that the tests of a suite share: a real process that the suite's trait starts before
/// the first of them and ends behind the last. Tests keep out of each other's way by names that
/// nobody else uses. A value, known to the tests by task-local state.
struct LiveGateway: Sendable {
    let port: Int
    let internalPort: Int

    @TaskLocal static var current: LiveGateway?

    /// - Throws: where the suite has no `.gateway` trait.
    static func get() throws -> LiveGateway { try #require(current) }

    private static let counter = Atomic<Int>(0)

    /// A name that no other test uses.
    static func name(_ stem: String) -> String {
        "\(stem)-\(counter.add(1, ordering: .relaxed).oldValue)"
    }

    /// A client that has said `connect` in open mode.
    func client(_ user: String) throws -> ChatTestClient {
        let client = try ChatTestClient(port: port)
        try client.connect(user: user)
        return client
    }

    func api() -> ServerAPI { ServerAPI(port: port, apiKey: GatewayProcess.apiKey) }

    /// Plain HTTP to the public listener, without a key.
    func http() -> HTTPConnection { HTTPConnection(port: port) }

    /// Plain HTTP to the internal listener.
    func operations() -> HTTPConnection { HTTPConnection(port: internalPort) }

    /// A conversation of its own with these messages, made by the server API.
    ///
    /// - Returns: Its id.
    func conversation(
        of users: [String], admins: [String] = [], messages count: Int = 0
    ) throws -> String {
        let id = Self.name("c")
        let api = api()
        try api.put(
            id,
            [
                "participants": .array(users.map { .string($0) }),
                "admins": .array(admins.map { .string($0) }),
            ])
        guard count > 0, let author = users.first else { return id }
        for low in stride(from: 1, through: count, by: 1000) {
            let messages = (low...min(count, low + 999)).map { number -> JSONValue in
                [
                    "id": .string("m\(number)"), "author": .string(author),
                    "body": .string("text \(number)"),
                ]
            }
            try api.post(messages, to: id)
        }
        return id
    }
}

/// Runs the tests of a suite against one gateway, and looks at it once more at the end: it lives,
/// its books balance, and nothing that a user typed stands in its log.
struct GatewayTrait: SuiteTrait, TestScoping {
    let settings: [String: String]
    /// What tests put into messages and tokens that must not be found in the log.
    static let secretWord = "xyzzy-content"

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let process = try GatewayProcess(settings: settings)
        if GatewayProcess.isMirror {
            let run = try CommandRun(["enable", "1.2"] + process.flags)
            #expect(run.status == 0, "\(run.output)")
        }
        let gateway = LiveGateway(port: process.port, internalPort: process.internalPort)
        try await LiveGateway.$current.withValue(gateway) { try await function() }
        #expect(
            process.isRunning, "the gateway is gone; its log ends:\n\(process.log.suffix(2000))")
        let health = try process.health().json
        #expect(health["accounting"]["error"] == 0, "the books of the gateway do not balance")
        #expect(!process.log.contains(Self.secretWord), "the log holds what a user typed")
    }
}

extension Trait where Self == GatewayTrait {
    static func gateway(_ settings: [String: String] = [:]) -> Self { Self(settings: settings) }
}

/// The tests that share one gateway with its defaults: open mode, embedded origin.
@Suite(.gateway()) struct DefaultGateway {}

extension ChatTestClient {
    /// The code of the error that answers the request; `ok` where there is none.
    ///
    /// - Throws: `TestFailure` where no answer comes.
    func code(_ method: String, _ params: JSONValue = [:]) throws -> String {
        do {
            try request(method, params)
            return "ok"
        } catch let error as RequestFailed {
            return error.code
        }
    }

    /// Has the gateway answer something, so that everything it had to say before is here.
    func settle() throws { try request("unsubscribeConversations") }

    /// The events with this name that have come and that nobody took.
    func events(_ name: String) -> [JSONValue] { events.filter { $0["event"].string == name } }
}

extension JSONValue {
    /// The values of one member of each element.
    func column(_ key: String) -> [JSONValue] { (array ?? []).map { $0[key] } }

    var seqs: [Int] { column("seq").compactMap(\.int) }

    /// An array of strings.
    static func strings(_ values: [String]) -> JSONValue { .array(values.map { .string($0) }) }
}
