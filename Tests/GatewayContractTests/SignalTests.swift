import Foundation
import Glibc
import TestSupport
import Testing

/// `protocol.md` 8, signals: SIGHUP reads the configuration again and says what changed, SIGTERM
/// drains, a second one stops at once.
@Suite struct SignalTests {
    /// A gateway whose API keys stand in a file that the test writes.
    private func gateway(keys: String, config: String = "{}") throws -> GatewayProcess {
        let gateway = try GatewayProcess(starts: false)
        try write(keys, "keys", gateway)
        gateway.settings["auth.api_key_file"] = file("keys", gateway).path
        try gateway.start()
        return gateway
    }

    private func file(_ name: String, _ gateway: GatewayProcess) -> URL {
        gateway.directory.appendingPathComponent(name)
    }

    private func write(_ text: String, _ name: String, _ gateway: GatewayProcess) throws {
        try Data(text.utf8).write(to: file(name, gateway))
    }

    private func status(_ gateway: GatewayProcess, key: String) throws -> Int {
        try HTTPConnection(port: gateway.port)
            .send("GET", "/v1/gaps", headers: ["X-API-Key": key]).status
    }

    @Test func everyLineOfTheKeyFileIsAKeyAndAReloadTakesTheNewOnes() throws {
        let gateway = try gateway(keys: "first-key-of-the-tests\r\n\nsecond-key-of-the-tests\n")
        for (key, expected) in [
            ("first-key-of-the-tests", 200), ("second-key-of-the-tests", 200), ("third", 401),
            ("first-key-of-the-tests\nsecond-key-of-the-tests", 400),
        ] { #expect(try status(gateway, key: key) == expected, "\(key)") }
        let client = try gateway.client("alice")
        try write("third-key-of-the-tests\n", "keys", gateway)
        gateway.signal(SIGHUP)
        let isTaken = try Deadline.standard.poll {
            try status(gateway, key: "third-key-of-the-tests") == 200
        }
        #expect(isTaken)
        #expect(try status(gateway, key: "first-key-of-the-tests") == 401)
        #expect(try client.code("unsubscribeConversations") == "ok")
        #expect(gateway.log.contains("reloaded") && !gateway.log.contains("third-key"))
    }

    @Test(arguments: [SIGUSR1, SIGUSR2]) func aSignalWithoutAMeaningEndsNothing(
        _ signal: Int32
    ) throws {
        let gateway = try gateway(keys: "first-key-of-the-tests\n")
        let client = try gateway.client("alice")
        gateway.signal(signal)
        let isTold = Deadline.standard.poll {
            gateway.log.contains("event=signal_ignored") || !gateway.isRunning
        }
        #expect(isTold && gateway.isRunning)
        #expect(try client.code("unsubscribeConversations") == "ok")
    }

    @Test func atDebugEachConnectionAndRequestIsALineAndAWrongKeyAlwaysIs() throws {
        let gateway = try gateway(keys: "first-key-of-the-tests\n")
        #expect(try status(gateway, key: "a-key-that-is-no-key") == 401)
        let isTold = Deadline.standard.poll { gateway.log.contains("event=api_key_refused") }
        #expect(isTold && gateway.log.contains("address=127.0.0.1"))
        #expect(!gateway.log.contains("a-key-that-is-no-key") && !gateway.log.contains("debug"))
        gateway.settings["log.level"] = "debug"
        #expect(try gateway.terminate() == 0)
        try gateway.start()
        #expect(try gateway.client("alice").code("unsubscribeConversations") == "ok")
        #expect(try status(gateway, key: "first-key-of-the-tests") == 200)
        let isSaid = Deadline.standard.poll {
            [
                "event=connection_opened", "event=connection_closed", "event=request_received",
                "path=/v1/gaps",
            ]
            .allSatisfy { gateway.log.contains($0) }
        }
        #expect(isSaid, "\(gateway.log)")
    }

    @Test func aReloadedLevelHoldsForAllLinesAndIsToldInEitherDirection() throws {
        let gateway = try GatewayProcess(starts: false)
        gateway.file = file("gapless.json5", gateway)
        try write("{log: {level: 'warning'}}", "gapless.json5", gateway)
        try gateway.start()
        #expect(!gateway.log.contains("listening"))
        for (level, told) in [("info", #""warning" -> "info""#), ("error", #""info" -> "error""#)] {
            try write("{log: {level: '\(level)'}}", "gapless.json5", gateway)
            gateway.signal(SIGHUP)
            let isTold = Deadline.standard.poll {
                gateway.log.replacing("\\", with: "").contains("log.level: \(told)")
            }
            #expect(isTold, "\(gateway.log)")
        }
    }

    /// Each key behind `limits.` by its name, as the file has it and as `connect` tells it.
    private static let limits: [(name: String, text: String, value: Int)] = [
        ("connections", "70", 70), ("connections_per_user", "3", 3),
        ("connections_per_address", "60", 60), ("http_connections", "50", 50),
        ("subscriptions", "2", 2), ("inbound_frame", "'32KiB'", 32_768),
        ("message", "'300B'", 300), ("record", "'400B'", 400), ("unknown_fields", "5", 5),
        ("participants", "4", 4), ("admins", "1", 1), ("conversations_per_user", "7", 7),
        ("reaction_keys", "9", 9), ("reactions", "99", 99), ("mentions", "6", 6),
        ("presence", "9", 9),
        ("reply", "'64KiB'", 65_536), ("outbox_soft", "'512KiB'", 524_288),
        ("outbox_hard", "'8MiB'", 8_388_608), ("outbox_total", "'128MiB'", 134_217_728),
        ("requests_per_second", "123", 123),
        ("bytes_per_second", "'1MiB'", 1_048_576), ("connect_timeout", "'9s'", 9_000),
        ("ping_interval", "'20s'", 20_000), ("pong_timeout", "'21s'", 21_000),
    ]
    private static let takeARestart: Set = ["http_connections", "inbound_frame", "reply"]

    @Test func aReloadAppliesEveryLimitButThreeThatItNames() throws {
        let gateway = try GatewayProcess(starts: false)
        gateway.settings["limits.requests_per_second"] = nil
        gateway.file = file("gapless.json5", gateway)
        try write("{}", "gapless.json5", gateway)
        try gateway.start()
        let alice = try gateway.client("alice")
        let id = LiveGateway.name("c")
        let before = try ChatTestClient(port: gateway.port).connect(user: "bob")["limits"]
        #expect(Set(before.object?.keys.map { $0 } ?? []) == Set(Self.limits.map(\.name)))

        let keys = Self.limits.map { "\($0.name): \($0.text)" }.joined(separator: ", ")
        try write("{limits: {\(keys)}, clients: {edit: 'no'}}", "gapless.json5", gateway)
        gateway.signal(SIGHUP)
        #expect(Deadline.standard.poll { gateway.log.contains("limits.pong_timeout") })
        let after = try ChatTestClient(port: gateway.port).connect(user: "bob")["limits"]
        for (name, _, value) in Self.limits {
            let isKept = Self.takeARestart.contains(name)
            #expect(before[name] != .int(value), "\(name) is what it was")
            #expect(after[name] == (isKept ? before[name] : .int(value)), "\(name)")
            let line = gateway.log.split(separator: "\n").first { $0.contains("limits.\(name):") }
            #expect(line?.contains("needs a restart") == isKept, "\(name): \(line ?? "no line")")
        }
        try expectLimited(alice, id)
    }

    /// The limits of that file hold for who was connected before.
    private func expectLimited(_ client: ChatTestClient, _ id: String) throws {
        func code(_ method: String, _ params: JSONValue) throws -> String {
            var params = params
            params["conversation"] = .string(id)
            return try client.code(method, params)
        }
        let people = JSONValue.strings((0..<4).map { "user\($0)" })
        #expect(
            try client.code("createConversation", ["id": .string(id), "participants": people])
                == "too_large")
        #expect(
            try client.code("createConversation", ["id": .string(id), "participants": []]) == "ok")
        let long = JSONValue.string(String(repeating: "a", count: 301))
        #expect(try code("sendMessage", ["body": long]) == "too_large")
        #expect(try code("sendMessage", ["id": "m1", "body": "short"]) == "ok")
        #expect(try code("editMessage", ["id": "m1", "body": "other"]) == "forbidden")
        let title = JSONValue.string(String(repeating: "a", count: 401))
        #expect(try code("updateConversation", ["title": title]) == "too_large")
        var codes: [String] = []
        for number in 0..<3 {
            let other = JSONValue.string("\(id)-\(number)")
            try client.request("createConversation", ["id": other, "participants": []])
            codes.append(try client.code("subscribeMessages", ["conversation": other]))
        }
        #expect(codes == ["ok", "ok", "too_large"])
    }

    @Test func anInvalidFileKeepsTheOldConfiguration() throws {
        let gateway = try gateway(keys: "first-key-of-the-tests\n")
        try FileManager.default.removeItem(at: file("keys", gateway))
        gateway.signal(SIGHUP)
        #expect(Deadline.standard.poll { gateway.log.contains("event=reload_failed") })
        #expect(try status(gateway, key: "first-key-of-the-tests") == 200)
        #expect(try gateway.health("/health/ready").status == 200)
    }

    @Test func withoutAKeyFileTheServerAPIIsClosed() throws {
        let gateway = try GatewayProcess(starts: false)
        gateway.settings["auth.api_key_file"] = nil
        try gateway.start()
        for key in ["", "key", GatewayProcess.apiKey] {
            #expect(try status(gateway, key: key) == 401)
        }
    }

    @Test func aDrainTellsEachClientWhenToComeBack() throws {
        let gateway = try GatewayProcess(settings: [
            "drain.window": "100s", "drain.deadline": "120s",
        ])
        let clients = try (0..<4).map { try gateway.client("user\($0)") }
        gateway.signal(SIGTERM)
        for client in clients {
            let event = try client.nextEvent("goaway")
            #expect(Shape.goawayEvent.faults(event) == [])
        }
        // Until the exit it is not ready, and alive.
        #expect(try gateway.health("/health/ready").status == 503)
        #expect(try gateway.health("/readyz").status == 503)
        #expect(try gateway.health("/health/live").status == 200)
        #expect(try gateway.health().json["draining"] == true)
        let refusal = #expect(throws: WebSocketConnection.UpgradeRefused.self) {
            try WebSocketConnection(port: gateway.port)
        }
        #expect(refusal?.status == 503)
        for client in clients {
            #expect(try client.wait { $0.connection.hasEnded })
            #expect(client.connection.closeCode == 3000)
        }
        #expect(try gateway.waitForExit() == 0)
    }

    @Test func aDrainIsServedToItsEnd() throws {
        let gateway = try GatewayProcess(settings: [
            "drain.window": "60s", "drain.deadline": "90s",
        ])
        let id = LiveGateway.name("c")
        let (first, last) = (try gateway.client("alice"), try gateway.client("alice"))
        try first.request(
            "createConversation", ["id": .string(id), "participants": []])
        gateway.signal(SIGINT)
        let slots = try [first, last].map {
            try $0.nextEvent("goaway")["reconnectIn"].int ?? -1
        }
        // The file is free after twelve seconds at the latest, and a second later they may come.
        // Beside a successor that serves already, or behind the end of this process.
        let range = GatewayProcess.isMirror ? 0...60_000 : 13_000...73_000
        #expect(Set(slots).count == 2 && slots.allSatisfy { range.contains($0) })
        // The gateway still answers a client that is still connected.
        #expect(try last.code("sendMessage", ["conversation": .string(id), "body": "b"]) == "ok")
        #expect(try gateway.waitForExit() == 0)
        try gateway.start()
        #expect(try gateway.client("alice").subscribe(id)["head"]["seq"] == 1)
    }

    @Test func aSecondSignalStopsAtOnce() throws {
        let gateway = try GatewayProcess(settings: ["drain.window": "60s", "drain.deadline": "60s"])
        let clients = try (0..<2).map { try gateway.client("user\($0)") }
        gateway.signal(SIGTERM)
        for client in clients { _ = try client.nextEvent("goaway") }
        gateway.signal(SIGTERM)
        #expect(try gateway.waitForExit(.after(.seconds(30))) == 0)
    }
}
