import Foundation
import GaplessClient
import Testing
import TestSupport

extension LiveClient {
    /// Over TLS a client talks to the host that it was told to, or to nobody.
    @Suite struct Encryption {
        /// A certificate for `localhost`, made by the `openssl` command.
        private func makeCertificate(in directory: URL) throws -> (certificate: String, key: String)
        {
            let files = ["certificate.pem", "key.pem"].map {
                directory.appendingPathComponent($0).path
            }
            let openssl = Process()
            openssl.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
            openssl.arguments = [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                "-days", "2", "-out", files[0], "-keyout", files[1],
            ]
            openssl.standardError = FileHandle.nullDevice
            try openssl.run()
            openssl.waitUntilExit()
            try #require(openssl.terminationStatus == 0)
            return (files[0], files[1])
        }

        /// What comes of a try: `live`, or `waiting` for the next one.
        private func firstOutcome(_ url: String, roots: String?) async throws -> ConnectionState? {
            var options = ChatClient.Options()
            options.trustedRoots = roots
            let client = try ChatClient(url: url, options: options) { _ in .user("alice") }
            let states = client.connectionStates().makeAsyncIterator()
            client.connect()
            while let state = await states.next() {
                switch state {
                case .live, .waiting, .closed: return state
                case .idle, .connecting: break
                }
            }
            return nil
        }

        @Test func onlyATrustedCertificateOfTheHostIsTaken() async throws {
            let gateway = try GatewayProcess(starts: false)
            let (certificate, key) = try makeCertificate(in: gateway.directory)
            gateway.settings["listen.tls.certificate"] = certificate
            gateway.settings["listen.tls.key"] = key
            try gateway.start()
            let port = gateway.port
            let byName = "wss://localhost:\(port)/v1/ws"
            #expect(try await firstOutcome(byName, roots: certificate) == .live)
            for (url, roots) in [
                (byName, nil), ("wss://127.0.0.1:\(port)/v1/ws", certificate),
                ("ws://localhost:\(port)/v1/ws", certificate),
            ] {
                let outcome = try await firstOutcome(url, roots: roots)
                guard case .waiting(_, nil) = outcome else {
                    Issue.record("\(url) came to \(String(describing: outcome))")
                    continue
                }
            }
        }
    }
}
