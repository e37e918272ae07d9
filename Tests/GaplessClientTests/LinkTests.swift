import Foundation
import TestSupport
import Testing

/// What an app on Linux links: the client, and nothing of the gateway.
@Suite struct LinkTests {
    private func program(_ name: String) throws -> Data {
        let folder = URL(fileURLWithPath: try GatewayProcess.binary()).deletingLastPathComponent()
        return try Data(contentsOf: folder.appendingPathComponent(name), options: .alwaysMapped)
    }

    /// Whether a program has symbols of a module: their names begin with its own.
    private func has(_ module: String, _ program: Data) -> Bool {
        program.range(of: Data("$s\(module.utf8.count)\(module)".utf8)) != nil
    }

    @Test func noEngineAndNoCache() throws {
        let (app, gateway) = (try program("gapless-example"), try program("gapless"))
        for module in ["JSON", "Chat", "Wire", "ClientCore", "SQLite", "SocketLoop"] {
            #expect(has(module, app), "\(module)")
        }
        for module in [
            "Engine", "Rules", "Ports", "Cache", "Upstream", "Gateway", "WebSockets", "Crypto",
            "Postgres", "Configuration", "Commands",
        ] {
            #expect(!has(module, app), "\(module)")
            #expect(has(module, gateway), "\(module)")
        }
    }

    /// The libraries that it names, of those of the house.
    @Test func noLibraryOfTheServer() throws {
        let app = try program("gapless-example")
        for library in ["libcurl", "libhiredis", "libpq", "libFoundation"] {
            #expect(app.range(of: Data("\(library).so".utf8)) == nil, "\(library)")
        }
        for library in ["libwebsockets", "libsqlite3"] {
            #expect(app.range(of: Data("\(library).so".utf8)) != nil, "\(library)")
        }
    }
}
