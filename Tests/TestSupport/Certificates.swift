import Foundation

/// Certificates of an authority of the test's own, made by the `openssl` command in a directory
/// that goes with it.
package final class Certificates {
    /// A certificate and its key, as PEM files.
    package struct Pair: Sendable {
        package let certificate: String
        package let key: String

        /// Puts another pair in the place of these files, each at once.
        /// - Throws: where a file can't be read or written.
        package func replace(by new: Pair) throws {
            try Certificates.replace(certificate, by: new.certificate)
            try Certificates.replace(key, by: new.key)
        }
    }

    /// Puts the content of another file in the place of a file, at once.
    /// - Throws: where one of them can't be read or written.
    package static func replace(_ file: String, by other: String) throws {
        try Data(contentsOf: URL(filePath: other))
            .write(to: URL(filePath: file), options: .atomic)
    }

    private let directory: String
    /// The authority's certificate.
    package let authority: String
    private var count = 0

    /// - Throws: `TestFailure` where `openssl` refuses.
    package init() throws {
        directory = FileManager.default.temporaryDirectory.path + "/gapless-tls-\(UUID())"
        authority = directory + "/authority.pem"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        try openssl(
            ["req", "-x509", "-days", "30", "-subj", "/CN=authority", "-out", authority]
                + newKey("authority"))
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// A certificate of the authority.
    ///
    /// - Parameters:
    ///   - names: as `openssl` writes alternative names.
    ///   - days: how long it counts; -1: until yesterday.
    /// - Throws: `TestFailure` where `openssl` refuses.
    package func issue(
        names: String = "DNS:localhost,IP:127.0.0.1", days: Int = 30
    ) throws -> Pair {
        count += 1
        let pair = Pair(
            certificate: "\(directory)/\(count).pem", key: "\(directory)/\(count).key")
        let request = "\(directory)/\(count).csr"
        try openssl(
            ["req", "-subj", "/CN=test", "-addext", "subjectAltName=\(names)", "-out", request]
                + newKey("\(count)"))
        try openssl([
            "x509", "-req", "-in", request, "-CA", authority, "-CAkey",
            directory + "/authority.key", "-CAcreateserial", "-copy_extensions", "copy", "-days",
            "\(days)", "-out", pair.certificate,
        ])
        return pair
    }

    /// What a Redis server needs to listen with TLS too.
    package func arguments(
        port: Int, _ pair: Pair, wantsCertificate: Bool = false
    ) -> [String] {
        [
            "--tls-port", "\(port)", "--tls-cert-file", pair.certificate, "--tls-key-file",
            pair.key, "--tls-ca-cert-file", authority, "--tls-auth-clients",
            wantsCertificate ? "yes" : "no",
        ]
    }

    /// Of a gateway that is led to a server by TLS.
    package func settings(of place: String) -> [String: String] {
        ["upstream.redis.url": "rediss://\(place)/0", "upstream.redis.tls.ca_file": authority]
    }

    private func newKey(_ name: String) -> [String] {
        [
            "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
            "\(directory)/\(name).key",
        ]
    }

    private func openssl(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw TestFailure("openssl \(arguments.first ?? ""): \(process.terminationStatus)")
        }
    }
}
