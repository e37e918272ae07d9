import Foundation
import Testing

@testable import WebSockets

/// A certificate for the tests, made by the `openssl` command.
enum TestCertificate {
    static func write() throws -> TLSFiles {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("gapless-tls-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let files = TLSFiles(certificate: directory + "/cert.pem", key: directory + "/key.pem")
        try write(files, name: "localhost")
        return files
    }

    /// Puts another certificate, with a key of its own, where `files` are.
    /// - Parameter key: as `openssl req -newkey` takes it.
    static func write(_ files: TLSFiles, name: String, key: String = "ec") throws {
        let curve = key == "ec" ? ["-pkeyopt", "ec_paramgen_curve:prime256v1"] : []
        let openssl = Process()
        openssl.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        openssl.arguments =
            [
                "req", "-x509", "-newkey", key, "-nodes", "-subj", "/CN=\(name)", "-days", "2",
                "-out",
                files.certificate, "-keyout", files.key,
            ] + curve
        openssl.standardError = FileHandle.nullDevice
        try openssl.run()
        openssl.waitUntilExit()
        try #require(openssl.terminationStatus == 0)
    }
}

/// A TLS client: the `openssl` command with its ends in our hands.
final class TLSClient {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var buffer: [UInt8] = []

    init(port: UInt16, arguments: [String] = ["-quiet"]) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = ["s_client", "-connect", "127.0.0.1:\(port)"] + arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit { process.terminate() }

    func send(_ bytes: [UInt8]) throws {
        try input.fileHandleForWriting.write(contentsOf: Data(bytes))
    }

    func receive(_ count: Int) throws -> [UInt8] {
        while buffer.count < count {
            let data = output.fileHandleForReading.availableData
            try #require(!data.isEmpty, "closed at \(buffer.count) of \(count) bytes")
            buffer.append(contentsOf: data)
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer.prefix(count))
    }

    func receiveHead() throws -> String {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual([13, 10, 13, 10]) { head += try receive(1) }
        return String(decoding: head, as: UTF8.self)
    }

    /// Everything to the end of the stream.
    func receiveToEnd() -> [UInt8] {
        defer { buffer = [] }
        return buffer + output.fileHandleForReading.readDataToEndOfFile()
    }
}

@Suite struct TLSTests {
    @Test func aMessageComesBackOverTLS() throws {
        let server = try TestServer(tls: try TestCertificate.write())
        let client = try TLSClient(port: server.port)
        try client.send(Array(RawClient.handshake().utf8))
        #expect(try client.receiveHead().hasPrefix("HTTP/1.1 101"))
        for size in [0, 5, 126, 16_384, 60_000] {
            let payload = (0..<size).map { UInt8(32 + $0 % 90) }
            try client.send(RawClient.masked(1, payload))
            let frame = Frame.frame(.text, payload)
            #expect(try client.receive(frame.count) == frame)
        }
        #expect(server.onLoop { $0.echo.upgrades[0].isSecure })
        try client.send(RawClient.masked(8, [0x03, 0xE8]))
        #expect(try client.receive(4) == [0x88, 2, 0x03, 0xE8])
        #expect(server.eventually { $0.echo.closed.count == 1 })
    }

    @Test func aLargeResponseArrivesWholeOverTLS() throws {
        let server = try TestServer(tls: try TestCertificate.write())
        let large = (0..<5_000_001).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        server.onLoop { $0.echo.largeBody = large }
        let client = try TLSClient(port: server.port)
        try client.send(
            Array("GET /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".utf8))
        #expect(try client.receiveHead().hasPrefix("HTTP/1.1 200"))
        #expect(client.receiveToEnd() == large)
        #expect(server.eventually { $0.server.connectionCount == 0 })
    }

    @Test func aSlowReaderLosesNoByteOverTLS() throws {
        let server = try TestServer(tls: try TestCertificate.write())
        let client = try TLSClient(port: server.port)
        try client.send(Array(RawClient.handshake().utf8))
        _ = try client.receiveHead()
        let count = server.onLoop { server in
            var buffer = SendBuffer()
            var count = 0
            var result = SendResult.sent
            while result == .sent {
                buffer.removeAll()
                buffer.append(
                    Frame.frame(.binary, [UInt8](repeating: UInt8(count & 0xFF), count: 100_000)))
                result = server.server.send(server.echo.open[0], &buffer)
                count += 1
            }
            return count
        }
        for index in 0..<count {
            let frame = Frame.frame(
                .binary, [UInt8](repeating: UInt8(index & 0xFF), count: 100_000))
            #expect(try client.receive(frame.count) == frame)
        }
        #expect(server.eventually { $0.echo.writable.count == 1 })
    }

    @Test func onlyHTTP11IsNegotiated() throws {
        let server = try TestServer(tls: try TestCertificate.write())
        let client = try TLSClient(port: server.port, arguments: ["-alpn", "h2,http/1.1"])
        var said = ""
        while !said.contains("ALPN protocol: ") || said.last != "\n" {
            said += String(decoding: try client.receive(1), as: UTF8.self)
        }
        #expect(said.contains("ALPN protocol: http/1.1\n"))
    }

    /// Also one with another type of key, which OpenSSL would keep beside the first.
    @Test(arguments: ["ec", "rsa:2048"])
    func aNewCertificateIsShownAndNobodyIsDropped(key: String) throws {
        let files = try TestCertificate.write()
        let server = try TestServer(tls: files)
        let held = try TLSClient(port: server.port)
        try held.send(Array(RawClient.handshake().utf8))
        _ = try held.receiveHead()
        #expect(try server.onLoop { $0.reloaded() }.get() == false)
        #expect(try name(shownBy: server) == "localhost")

        try TestCertificate.write(files, name: "renewed", key: key)
        #expect(try server.onLoop { $0.reloaded() }.get())
        #expect(try name(shownBy: server) == "renewed")
        try held.send(RawClient.masked(1, Array("still here".utf8)))
        let frame = Frame.frame(.text, Array("still here".utf8))
        #expect(try held.receive(frame.count) == frame)
    }

    @Test func aCertificateThatCannotBeUsedLeavesTheOneInUse() throws {
        let files = try TestCertificate.write()
        let server = try TestServer(tls: files)
        let other = try TestCertificate.write()
        let spoilt: [(String, () throws -> Void)] = [
            (files.key, { try replace(files.key, by: other.key) }),
            (files.certificate, { try Data("no PEM".utf8).write(to: url(files.certificate)) }),
            (files.certificate, { try FileManager.default.removeItem(atPath: files.certificate) }),
        ]
        for (path, spoil) in spoilt {
            try spoil()
            let result = server.onLoop { $0.reloaded() }
            let error = #expect(throws: WebSocketError.self) { try result.get() }
            #expect(error?.code == .certificate)
            #expect(error?.description.contains(path) == true)
            #expect(try name(shownBy: server) == "localhost")
        }
    }

    private func url(_ path: String) -> URL { URL(fileURLWithPath: path) }

    private func replace(_ path: String, by other: String) throws {
        try Data(contentsOf: url(other)).write(to: url(path))
    }

    @Test func aRenewedCertificateIsShownByAllThatShare() throws {
        let files = try TestCertificate.write()
        let others = try (1...2).map { try TestServer(tls: files, number: $0) }
        let server = try TestServer(tls: files, sharing: others)
        #expect(try names(shownTo: 6, by: server) == Array(repeating: "localhost", count: 6))
        try TestCertificate.write(files, name: "renewed", key: "rsa:2048")
        #expect(try server.onLoop { $0.reloaded() }.get())
        // Behind what the others were told.
        for other in others { other.onLoop { _ in } }
        #expect(try names(shownTo: 6, by: server) == Array(repeating: "renewed", count: 6))
    }

    /// The same of several who stay, so that each server that shares has some of them.
    private func names(shownTo count: Int, by server: TestServer) throws -> [Substring] {
        let clients = try (0..<count).map { _ in try TLSClient(port: server.port, arguments: []) }
        return try clients.map(name)
    }

    /// The common name of the certificate that a newcomer is shown.
    private func name(shownBy server: TestServer) throws -> Substring {
        try name(shownTo: TLSClient(port: server.port, arguments: []))
    }

    private func name(shownTo client: TLSClient) throws -> Substring {
        var said = ""
        while !said.contains("subject=") || said.last != "\n" {
            said += String(decoding: try client.receive(1), as: UTF8.self)
        }
        return said.split(separator: "\n").last?.split(separator: " ").last ?? ""
    }

    @Test func whoDoesNotFinishTheHandshakeIsDropped() throws {
        var limits = ServerLimits()
        limits.handshakeTimeout = .milliseconds(400)
        let server = try TestServer(limits: limits, tls: try TestCertificate.write())
        let silent = try RawClient(port: server.port)
        #expect(try silent.isEnded())
        let finished = try TLSClient(port: server.port)
        #expect(finished.receiveToEnd().isEmpty)
        let plain = try RawClient(port: server.port)
        try plain.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        _ = try plain.receiveToEnd()
        #expect(server.eventually { $0.server.connectionCount == 0 })
        #expect(server.onLoop { $0.echo.requests.isEmpty })
    }
}
