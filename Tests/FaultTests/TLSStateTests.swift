import Foundation
import TestSupport
import Testing

extension Faults {
    /// What can be wrong with the TLS of a Redis that is there: a clear state in health and log,
    /// nothing answered meanwhile, and served again as soon as it is mended, without a restart.
    @Suite struct TLSStates {
        /// What is wrong, and how it is said.
        enum Wrong: String, CaseIterable, Sendable {
            case authority = "another authority"
            case expired = "expired certificate"
            case name = "another name"
            case wantsCertificate = "wants a client certificate"
            case missingFile = "file of the authority is gone"

            var words: [String] {
                switch self {
                case .authority: ["certificate", "upstream.redis.tls.ca_file"]
                case .expired: ["certificate has expired"]
                case .name: ["mismatch", "upstream.redis.tls.server_name"]
                case .wantsCertificate: ["client certificate", "upstream.redis.tls.certificate"]
                case .missingFile: ["authority.pem", "No such file"]
                }
            }
        }

        @Test(arguments: Wrong.allCases)
        func itIsNamedAndMendedWithoutARestart(_ wrong: Wrong) throws {
            let certificates = try Certificates()
            let served = try certificates.issue()
            let port = try Port.free()
            // The files of the server, which it reads when it starts.
            let place = try certificates.issue()
            let redis = try RedisProcess(
                certificates.arguments(
                    port: port, place, wantsCertificate: wrong == .wantsCertificate))
            let authority = place.certificate + ".authority.pem"
            try FileManager.default.copyItem(atPath: certificates.authority, toPath: authority)
            var settings = certificates.settings(of: "127.0.0.1:\(port)")
            settings["upstream.redis.tls.ca_file"] = authority
            let gateway = try GatewayProcess(
                settings: Faults.settings.merging(settings) { $1 }, starts: false)

            let stranger = try Certificates()
            switch wrong {
            case .authority: try Certificates.replace(authority, by: stranger.authority)
            case .expired: try serve(try certificates.issue(days: -1), at: place, redis)
            case .name:
                try serve(try certificates.issue(names: "DNS:redis.example.org"), at: place, redis)
            case .wantsCertificate: break
            case .missingFile:
                // It was there when the gateway began.
                try gateway.start()
                try FileManager.default.removeItem(atPath: authority)
                try redis.restart()
            }
            if wrong != .missingFile { try gateway.start(waits: false) }
            let isNamed = Deadline.standard.poll {
                let health = try? gateway.health().json
                let trouble = health?["upstream"][0]["trouble"].string ?? ""
                return health?["status"] == "degraded"
                    && wrong.words.allSatisfy { trouble.contains($0) }
            }
            #expect(isNamed, "\(wrong.rawValue): \((try? gateway.health().text) ?? "no health")")
            for word in wrong.words { #expect(gateway.logs(word), "\(wrong.rawValue)") }
            #expect(try gateway.health("/health/live").status == 200)
            #expect(try gateway.health("/health/ready").status == 503)
            let refusal = #expect(throws: ServerAPI.Refused.self) {
                try gateway.api().put("c1", ["participants": ["alice"]])
            }
            #expect(refusal?.code == "origin_unavailable" && refusal?.retry == "later")

            switch wrong {
            case .authority, .missingFile:
                try Certificates.replace(authority, by: certificates.authority)
            case .expired, .name: try serve(served, at: place, redis)
            case .wantsCertificate: try redis.ask("CONFIG", "SET", "tls-auth-clients", "no")
            }
            let isReady = Deadline.standard.poll {
                (try? gateway.health("/health/ready").status) == 200
            }
            #expect(isReady, "\(wrong.rawValue): not ready when it was mended")
            try ServerAPI.insist { try gateway.api().put("c1", ["participants": ["alice"]]) }
            #expect(try gateway.health().json["upstream"][0]["trouble"].isNull)
        }

        /// The server begins again with other files.
        private func serve(
            _ pair: Certificates.Pair, at place: Certificates.Pair, _ redis: RedisProcess
        ) throws {
            try place.replace(by: pair)
            try redis.restart()
        }
    }
}
