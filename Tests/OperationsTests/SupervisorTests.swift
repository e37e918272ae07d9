import Foundation
@testable import Gateway
import Glibc
import TestSupport
import Testing

/// The service manager hears when the gateway serves, that its loop turns, and when it drains.
@Suite struct SupervisorTests {
    @Test(arguments: [
        [:], ["NOTIFY_SOCKET": ""], ["NOTIFY_SOCKET": "relative"],
        ["NOTIFY_SOCKET": "/" + String(repeating: "a", count: 200)],
    ])
    func withoutAnAddressThereIsNone(_ environment: [String: String]) {
        #expect(Supervisor(environment: { environment[$0] }) == nil)
    }

    @Test(arguments: [false, true])
    func itHearsByPathAndByAbstractName(_ isAbstract: Bool) throws {
        let manager = try ServiceManager(isAbstract: isAbstract)
        let supervisor = try #require(
            Supervisor(environment: { $0 == "NOTIFY_SOCKET" ? manager.name : nil }))
        supervisor.ready("fine")
        #expect(manager.next() == "READY=1\nSTATUS=fine")
        supervisor.stopping()
        #expect(manager.next() == "STOPPING=1\nSTATUS=draining")
    }

    @Test(arguments: [
        (["WATCHDOG_USEC": "60000000"], true), ([:], false),
        (["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"], false),
        (["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "77"], true),
        (["WATCHDOG_USEC": "0"], false), (["WATCHDOG_USEC": "soon"], false),
    ])
    func aBeatIsSentWhereItIsWanted(_ environment: [String: String], _ isWanted: Bool) throws {
        let manager = try ServiceManager(isAbstract: false)
        var supervisor = try #require(
            Supervisor(
                environment: { $0 == "NOTIFY_SOCKET" ? manager.name : environment[$0] },
                process: 77))
        // The second comes long before half of the time is over.
        for _ in 0..<2 { supervisor.beat { "well" } }
        supervisor.ready("end")
        if isWanted { #expect(manager.next() == "WATCHDOG=1\nSTATUS=well") }
        #expect(manager.next() == "READY=1\nSTATUS=end")
    }

    @Test func aServingProcessTellsOfItsLife() throws {
        let manager = try ServiceManager(isAbstract: false)
        let gateway = try GatewayProcess(starts: false)
        let flags = gateway.settings.flatMap { ["--set", "\($0.key)=\($0.value)"] }
        let child = try ChildProcess(
            "/usr/bin/env",
            ["NOTIFY_SOCKET=\(manager.name)", "WATCHDOG_USEC=400000", GatewayProcess.binary()]
                + ["serve"] + flags, log: gateway.directory.appendingPathComponent("log").path)
        defer { child.kill() }
        #expect(manager.next()?.hasPrefix("READY=1\nSTATUS=") == true)
        #expect(try gateway.health("/health/ready").status == 200)
        for _ in 0..<3 { #expect(manager.next()?.hasPrefix("WATCHDOG=1\n") == true) }
        child.send(SIGHUP)
        #expect(manager.next(after: "WATCHDOG")?.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") == true)
        #expect(manager.next(after: "WATCHDOG")?.hasPrefix("READY=1\n") == true)
        child.send(SIGTERM)
        #expect(manager.next(after: "WATCHDOG")?.hasPrefix("STOPPING=1\n") == true)
        #expect(Deadline.after(.seconds(60)).poll { child.exitStatus != nil })
        #expect(child.exitStatus == 0)
    }
}

/// The socket of a service manager, and what arrives at it.
private final class ServiceManager {
    let name: String
    private let descriptor: Int32
    private let path: String?

    init(isAbstract: Bool) throws {
        let unique = "gapless-\(UUID().uuidString)"
        path = isAbstract ? nil : FileManager.default.temporaryDirectory.path + "/" + unique
        name = path ?? "@" + unique
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if isAbstract { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard result == 0 else { throw TestFailure("bind \(name): errno \(errno)") }
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(descriptor)
        if let path { unlink(path) }
    }

    /// What comes next; nil if nothing does.
    func next() -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }

    /// What comes next that begins with something else.
    func next(after prefix: String) -> String? {
        while let text = next() {
            if !text.hasPrefix(prefix) { return text }
        }
        return nil
    }
}
