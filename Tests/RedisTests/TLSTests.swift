import Crypto
import Glibc
import Ports
import TestSupport
import Testing
import Wire

@testable import Upstream

/// Redis behind TLS: it works as without, and whatever is wrong with a certificate is said.
@Suite struct TLSTests {
    private let certificates: Certificates

    init() throws { certificates = try Certificates() }

    /// A server with a port for TLS beside the plain one, by which the test asks.
    private func server(
        _ pair: Certificates.Pair, wantsCertificate: Bool = false, _ more: [String] = []
    ) throws -> (server: RedisProcess, port: Int) {
        let port = try Port.free()
        let arguments = certificates.arguments(
            port: port, pair, wantsCertificate: wantsCertificate)
        return (try RedisProcess(arguments + more, keeping: .nothing), port)
    }

    private func options(
        _ port: Int, host: String = "127.0.0.1", _ change: (inout RedisOptions) -> Void = { _ in }
    ) throws -> RedisOptions {
        var options = try RedisOptions(url: "rediss://\(host):\(port)/0")
        options.tls?.authorities = certificates.authority
        options.backoffBase = .milliseconds(20)
        options.backoffMax = .milliseconds(200)
        change(&options)
        return options
    }

    /// What keeps the upstream from being online.
    private func trouble(_ options: RedisOptions) throws -> String {
        let notices = Collected()
        let redis = Redis(options) { notices.add($0.text) }
        let subject = Subject(redis)
        let isTold = Deadline.standard.poll { redis.faults.trouble != nil }
        #expect(isTold && subject.outputs.reported != .online)
        let trouble = redis.faults.trouble?.text ?? ""
        #expect(notices.all.contains(trouble), "it is in the log too")
        return trouble
    }

    @Test(arguments: ["127.0.0.1", "localhost"]) func itWorksAsWithout(host: String) throws {
        let (server, port) = try server(try certificates.issue())
        let subject = Subject(Redis(try options(port, host: host)))
        try subject.waitUntilOnline()
        #expect(subject.upstream.faults.trouble == nil)
        try subject.conversation()
        try subject.subscribe()
        // More than a record of TLS holds, and than a socket takes at once.
        let long = String(repeating: "x", count: 300_000)
        for number in 1...10 { try subject.send(long, id: "m\(number)") }
        let isTold = Deadline.standard.poll { subject.outputs.events.count == 10 }
        #expect(isTold)
        #expect(try subject.page().head.seq == 10)
        #expect(try server.ask("HGET", "gapless:{c1}:meta", "seq").int == 10)
    }

    @Test func anotherAuthorityIsNotTrusted() throws {
        let (server, port) = try server(try certificates.issue())
        let other = try Certificates()
        let trouble = try trouble(try options(port) { $0.tls?.authorities = other.authority })
        #expect(trouble.contains("certificate") && trouble.contains("upstream.redis.tls.ca_file"))
        withExtendedLifetime(server) {}
    }

    @Test func anExpiredCertificateIsSaid() throws {
        let (server, port) = try server(try certificates.issue(days: -1))
        #expect(try trouble(try options(port)).contains("certificate has expired"))
        withExtendedLifetime(server) {}
    }

    @Test func anotherNameIsSaidAndMayBeExpected() throws {
        let (server, port) = try server(try certificates.issue(names: "DNS:redis.example.org"))
        let trouble = try trouble(try options(port))
        #expect(trouble.contains("mismatch") && trouble.contains("upstream.redis.tls.server_name"))
        let named = try options(port) { $0.tls?.name = "redis.example.org" }
        try Subject(Redis(named)).waitUntilOnline()
        withExtendedLifetime(server) {}
    }

    @Test func aServerMayWantACertificate() throws {
        let (server, port) = try server(try certificates.issue(), wantsCertificate: true)
        let trouble = try trouble(try options(port))
        #expect(trouble.contains("it wants a client certificate"))
        #expect(trouble.contains("upstream.redis.tls.certificate"))
        let own = try certificates.issue(names: "DNS:gateway")
        let known = try options(port) {
            $0.tls?.certificate = own.certificate
            $0.tls?.key = own.key
        }
        try Subject(Redis(known)).waitUntilOnline()
        let stranger = try Certificates()
        let foreign = try stranger.issue()
        let refused = try options(port) {
            $0.tls?.certificate = foreign.certificate
            $0.tls?.key = foreign.key
        }
        #expect(try self.trouble(refused).contains("it refuses our certificate"))
        withExtendedLifetime(server) {}
    }

    @Test func aServerWithoutTLSIsSaid() throws {
        let server = try RedisProcess(keeping: .nothing)
        let trouble = try trouble(try options(server.port) { $0.deadline = .seconds(1) })
        #expect(trouble.contains("TLS"))
    }

    @Test func filesThatCanNotBeUsedAreNamed() throws {
        let options = try options(1) { $0.tls?.authorities = "/nowhere/ca.pem" }
        let error = #expect(throws: RedisError.self) { try options.check() }
        #expect(error?.description.contains("/nowhere/ca.pem") == true)
    }

    /// Each node has a certificate; nodes talk by TLS too, and name their ports of it.
    @Test func aClusterAndItsFailoverGoOverTLS() throws {
        let servers = try RedisClusterServers(tls: certificates)
        let subject = Subject(Redis(try options(servers.masterPorts[1]) { $0.isCluster = true }))
        try subject.waitUntilOnline()
        #expect(subject.upstream.faults.trouble == nil)
        let conversations = try (0..<3).map { try servers.conversations(at: $0, 1)[0] }
        for conversation in conversations {
            try subject.conversation(conversation)
            try subject.send("before", to: conversation)
        }
        try servers.waitForReplica(0)
        servers.masters[0].kill()
        #expect(Deadline.standard.poll { subject.outputs.reported == .offline })
        // The others go on.
        #expect(try subject.send("between", to: conversations[1]).seq == 2)
        try subject.waitUntilOnline()
        #expect(try subject.send("after", to: conversations[0]).seq == 2)
    }

    /// A cluster is not there until its nodes were asked, and they say why they can't be.
    @Test func aClusterOfAnotherAuthorityIsNotTrusted() throws {
        let servers = try RedisClusterServers(tls: certificates)
        let other = try Certificates()
        for port in servers.masterPorts {
            let trouble = try trouble(
                try options(port) {
                    $0.isCluster = true
                    $0.tls?.authorities = other.authority
                })
            #expect(
                trouble.contains("certificate") && trouble.contains("upstream.redis.tls.ca_file"))
        }
    }

    @Test func thePasswordComesFromItsFileWithEachConnection() throws {
        let server = try RedisProcess(keeping: .nothing)
        try server.ask("CONFIG", "SET", "requirepass", "first")
        let file = server.directory + "/password"
        func write(_ text: String) throws {
            try Array(text.utf8).withUnsafeBytes { bytes in
                let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
                defer { close(descriptor) }
                guard Glibc.write(descriptor, bytes.baseAddress, bytes.count) == bytes.count else {
                    throw TestFailure("not written")
                }
            }
        }
        try write("first\n")
        let subject = Subject(Redis(try server.options { $0.login.passwordFile = file }))
        try subject.waitUntilOnline()
        try server.ask("CONFIG", "SET", "requirepass", "second", password: "first")
        try write("second\n")
        try server.ask("CLIENT", "KILL", "TYPE", "normal", password: "second")
        try server.ask("CLIENT", "KILL", "TYPE", "pubsub", password: "second")
        try subject.waitUntilOnline()
        try subject.conversation()
    }

    @Test func aFailoverOfSentinelsGoesOverTLS() throws {
        let pair = try certificates.issue()
        let tls = ["--tls-replication", "yes"]
        let (master, port) = try server(pair, tls)
        let (replica, _) = try server(pair, tls + ["--replicaof", "127.0.0.1 \(port)"])
        var addresses: [RedisOptions.Address] = []
        let sentinels = try (0..<3).map { _ in
            let own = try Port.free()
            addresses.append(.init(host: "127.0.0.1", port: own))
            let words = certificates.arguments(port: own, pair) + tls
            let lines = stride(from: 0, to: words.count, by: 2)
                .map { "\(words[$0].dropFirst(2)) \(words[$0 + 1])" }
            return try RedisProcess(watching: port, quorum: 2, lines: lines)
        }
        let isReady = Deadline.standard.poll {
            sentinels.allSatisfy { sentinel in
                let reply = try? sentinel.ask("SENTINEL", "MASTER", "mymaster")
                let parts = (reply?.elements ?? []).map(\.string)
                return [("num-other-sentinels", "2"), ("num-slaves", "1")]
                    .allSatisfy { name, value in
                        parts.firstIndex(of: name).map { parts[$0 + 1] == value } ?? false
                    }
            }
        }
        #expect(isReady)
        let subject = Subject(
            Redis(
                try options(1) {
                    $0.sentinels = addresses
                    $0.deadline = .seconds(1)
                }))
        try subject.waitUntilOnline()
        try subject.conversation()
        try subject.send("before")
        let isCopied = Deadline.standard.poll {
            (try? RedisSentinels.seq(of: "c1", at: replica)) == 1
        }
        #expect(isCopied)
        master.kill()
        #expect(Deadline.standard.poll { subject.outputs.reported == .offline })
        try subject.waitUntilOnline()
        #expect(try subject.send("after").seq == 2)
        #expect(try RedisSentinels.seq(of: "c1", at: replica) == 2)
    }
}
